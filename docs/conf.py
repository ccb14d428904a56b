"""How Sphinx builds the site; scripts/site calls it."""

import inspect
import re
import warnings
from pathlib import Path

import onkel

project = "onkel"
author = "the onkel maintainers"
project_copyright = author
version = release = onkel.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
master_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "literal"

# The formulas are in the text and need no script from elsewhere: the site works offline.
mathjax_path = "mathjax-is-not-used.js"

html_theme = "pydata_sphinx_theme"
html_title = "onkel"
html_static_path = ["_static"]
html_css_files = ["onkel.css"]
html_show_sourcelink = False
html_copy_source = False
html_favicon = "_static/onkel.svg"
html_theme_options = {
    "logo": {"text": "onkel", "image_light": "_static/onkel.svg", "image_dark": "_static/onkel.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "choose": [], "howto": []}

GALLERY = [
    "surfaces_over_time", "race", "learning_curves", "budget_and_accuracy", "accuracy_and_seconds", "drift",
    "newton_variance", "regression_with_uncertainty", "intervals_over_a_stream", "calibration", "relevances",
    "regions", "evictions", "ages", "polk_dictionary", "merge_and_compress", "kernel_weights", "text_rows", "own_part",
]  # fmt: skip


def place_in_gallery(filename):
    """The order in which the examples are shown."""
    return GALLERY.index(filename.removeprefix("plot_").removesuffix(".py"))


sphinx_gallery_conf = {
    "within_subsection_order": place_in_gallery,
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
}

warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")


def skip_what_is_scikit_learns(app, what, name, member, skip, options):
    """Leave out what every estimator has from scikit-learn, but for `score`."""
    if re.fullmatch(r"set_\w+_request|get_metadata_routing|get_params|set_params", name):
        return True
    member = inspect.unwrap(member.fget) if isinstance(member, property) and member.fget else member
    module = getattr(member, "__module__", None) or ""
    return True if module.split(".")[0] in ("sklearn", "river") else None


def setup(app):
    """Sphinx's hook."""
    app.connect("autodoc-skip-member", skip_what_is_scikit_learns)
    assert Path(app.srcdir, "index.md").exists()
