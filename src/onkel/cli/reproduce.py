"""`onkel reproduce`: the papers' experiments, with their figures and ours."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from onkel.cli._guard import Interrupted, Misused, say
from onkel.cli._options import Cluster, Json


def reproduce(
    *,
    name: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Experiments (--list prints them), or all.")
    ] = None,
    list_: Annotated[bool, Option("--list", help="List the experiments.")] = False,
    runs: Annotated[
        int | None,
        Option(min=1, metavar="N", help="Number of permutations; by default the paper's, and 5 or 3 for large sets."),
    ] = None,
    data: Annotated[str | None, Option(metavar="A,B,...", help="Only these data sets.")] = None,
    quick: Annotated[
        bool, Option("--quick", help="Two runs, 20,000 rows of larger sets, searches on few rows.")
    ] = False,
    results: Annotated[
        str, Option(metavar="DIR", help="Directory of the results; what is already there is not run again.")
    ] = "reproduce-results",
    jobs: Annotated[int | None, Option(min=1, metavar="N", help="Processes; by default one per core.")] = None,
    cluster: Cluster = None,
    kept: Annotated[bool, Option("--kept", help="Run nothing, and show the stored results.")] = False,
    recorded: Annotated[
        bool, Option("--recorded", help="Run nothing, and show the complete runs recorded for this version.")
    ] = False,
    record: Annotated[
        str | None, Option(metavar="DIR", help="Write the figures into the tables of a folder, as --recorded reads.")
    ] = None,
    json: Json = False,
    report: Annotated[str | None, Option(metavar="FILE", help="Write a page for any browser, offline.")] = None,
    markdown: Annotated[
        str | None,
        Option(metavar="FILE", help="Write the tables as Markdown, or fill in those of a page or a folder."),
    ] = None,
) -> None:
    """Run a paper's experiment; print its figures and ours.

    The data sets are in the folder ONKEL_DATA (onkel data list). A run that was interrupted can be resumed.

    \b
    Examples:
      onkel reproduce --list
      onkel reproduce bogd-table2 --quick
      onkel reproduce spa-table2 --data a9a,cod-rna --runs 5 --report spa.html
      onkel reproduce all --recorded --report all.html
      onkel reproduce all --results nightly --markdown tables.md
    """
    from onkel.cli._data import check_writable
    from onkel.cli._show import print_json, print_table

    try:
        import onkel_papers as experiments
    except ModuleNotFoundError:
        raise ImportError(
            "reproduce needs the package onkel_papers, which comes with onkel and is not there: reinstall onkel"
        ) from None
    if list_:
        lines = [{"experiment": known, "what it is": experiments.title(known)} for known in experiments.names()]
        print_json(lines) if json else print_table(("experiment", "what it is"), lines)
        return
    if not name:
        raise Misused("expected the names of experiments (--list prints them), or all")
    chosen = experiments.names() if name == ["all"] else list(dict.fromkeys(name))
    for one in chosen:
        if one not in experiments.names():
            raise Misused(f"there is no experiment {one!r}; expected one of {', '.join(experiments.names())}, or all")
    for path in (report, markdown):
        if path is not None and not (path == markdown and os.path.isdir(path)):
            check_writable(path)
    if recorded:
        _show(_recorded(chosen, _sets(chosen, data)), report, markdown, json=json)
        return
    options: dict[str, Any] = {"quick": quick, "runs": runs, "jobs": jobs or os.cpu_count() or 1, "kept": kept}
    with contextlib.ExitStack() as opened:
        if cluster is not None:
            from onkel.cli._cluster import client_of

            options["executor"] = opened.enter_context(client_of(cluster)).get_executor(pure=False)
        found = _run(chosen, results, _sets(chosen, data), options, quiet=json)
    if record is not None:
        from onkel_papers.recorded import record as write_record

        write_record(found, record)
    _show(found, report, markdown, json=json)


def _show(found: list[Any], report: str | None, markdown: str | None, *, json: bool) -> None:
    from onkel.cli._show import print_json

    _write(found, report, markdown)
    if json:
        print_json([_document(one) for one in found])
        return
    for one in found:
        _print(one)
    _print_claims(found)


def _recorded(chosen: list[str], data: list[str] | None) -> list[Any]:
    from onkel_papers.recorded import recorded

    return [found for found in (recorded(name, data) for name in chosen) if found.sets]


def _sets(chosen: list[str], data: str | None) -> list[str] | None:
    from onkel_papers.verdict import figures

    if data is None:
        return None
    known = list(dict.fromkeys(place[0] for name in chosen for place in figures()[name]))
    for one in data.split(","):
        if one not in known:
            raise Misused(f"--data {data}: there is no set {one!r} in these experiments; they have {', '.join(known)}")
    return data.split(",")


def _run(chosen: list[str], results: str, data: list[str] | None, options: dict[str, Any], *, quiet: bool) -> list[Any]:
    import onkel_papers as experiments
    from onkel.cli._show import Counter
    from onkel_papers.lab import Lab

    found = []
    with Counter(quiet) as counter, Lab(results, data=data, watch=counter.show, **options) as lab:
        for name in chosen:
            counter.title = name
            try:
                findings = experiments.experiment(name)(lab).completed()
            except KeyboardInterrupt:
                raise Interrupted(
                    f"interrupted in {name}; finished results are in {results}: the same command resumes from there"
                ) from None
            findings.spent = lab.spent()
            if findings.sets:
                found.append(findings)
    return found


def _write(found: list[Any], report: str | None, markdown: str | None) -> None:
    from onkel.utils.files import write_atomically

    if markdown is not None:
        from onkel_papers.summary import pieces
        from onkel_papers.tables import fill_in, filled_in

        if os.path.isdir(markdown):
            from onkel_papers.pictures import draw

            pages = fill_in(Path(markdown), pieces(found))
            draw(found, pages)
            say(f"the tables are in {', '.join(map(str, pages))}" if pages else f"no page in {markdown} has marks")
        else:
            page = Path(markdown).read_text("utf-8") if os.path.exists(markdown) else ""
            write_atomically(markdown, [filled_in(page, pieces(found)).encode()])
            say(f"the tables are in {markdown}")
    if report is not None:
        from onkel_papers.page import page_of

        write_atomically(report, [page_of(found).encode()])
        say(f"the report is in {report}")


def _document(one: Any) -> dict[str, Any]:
    entries = [entry.document() for entry in one.entries]
    from onkel_papers.verdict import APART

    apart = {name: one.counts(name) for name in APART}
    about = {"experiment": one.experiment, "counts": one.counts(), "apart": apart, "spent": one.spent}
    return {**about, "sets": one.sets, "entries": entries}


def _print(one: Any) -> None:
    from onkel.cli._show import print_table
    from onkel_papers import title
    from onkel_papers.tables import counted, runs_said, tables

    print(f"{one.experiment}: {title(one.experiment)}\n{runs_said(one)}{counted([one])}.\n")
    for table in tables(one):
        print(table.heading)
        if table.lines:
            print_table(table.columns, table.lines)
        print()


def _print_claims(found: list[Any]) -> None:
    from onkel.cli._show import print_table
    from onkel_papers.summary import all_claims

    claims = all_claims(found)
    if claims.lines:
        print(f"{claims.heading}\n")
        print_table(claims.columns, claims.lines)
