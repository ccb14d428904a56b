# What a stranger needs: Python >= 3.11 with venv and headers, g++ and make. Everything else is fetched into .venv.
# PYTHON=python3.12 chooses the interpreter, CXX=clang++ the compiler, PYTEST="-k spa" adds words to pytest.

PYTHON ?= python3
export CXX

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Folders are listed too: their time changes when a file leaves.
SOURCES := pyproject.toml CMakeLists.txt LICENSE $(shell find native src ! -path '*__pycache__*')
NATIVE_FILES = $(shell find native benchmarks/native tests/native -name "*.[ch]pp")

.PHONY: help demo test test-all test-levels lint bench bench-long sanitize arm cross mutants drawn-mutants soak fuzz coverage flat wheel release test-lowest docs look clean

help:
	@echo 'make demo     build, then let all learners race on two streams'
	@echo 'make test     build, then run the suite: a few minutes on two cores'
	@echo 'make test-all the suite with dtypes, outputs and checks crossed in full, for releases and large changes'
	@echo 'make test-levels  what the documentation shows, on each further instruction set that the machine has'
	@echo 'make lint     ruff, mypy on the installed package, clang-format, zizmor on the workflows'
	@echo 'make bench    speed beside its goals, as ratios within one process, in under ten minutes: a table, or BENCH_ARGS=--json'
	@echo '              BENCH=stream runs benchmarks/stream_bench.py alone, with BENCH_ARGS'
	@echo 'make bench-long  ten million rows: speed and memory from the first to the last'
	@echo 'make sanitize the C++ tests and fuzzers under the Address-, UndefinedBehavior- and ThreadSanitizer'
	@echo 'make arm      the C++ tests for 64-bit ARM, under emulation (needs a cross compiler and qemu-user)'
	@echo 'make cross    the core and its C++ tests compiled by clang for musl, macOS and Windows; those for musl are run'
	@echo 'make mutants  break each promise on purpose and see its test fail (CHANGED=1: those that a change touches; MOST=40)'
	@echo 'make drawn-mutants  rewrite lines that a change touches, by rule and ten of them (MOST=10), and see who notices'
	@echo 'make soak     kill a learning program a hundred times and a service two hundred times; their models must not notice;'
	@echo '              then 50,000 whole cases, drawn at random (CASES=1000: so many), with the number of each that fails'
	@echo 'make fuzz     forty minutes of files, text, calls and requests that nobody wrote (needs clang)'
	@echo 'make coverage what share of the lines the tests reach, of Python and of C++: build/coverage (RECORD=1 records it)'
	@echo 'make flat     stream a file of ten million rows and look at the memory'
	@echo 'make wheel    wheels and sdist for the Pythons at hand, each installed into an empty environment and tried'
	@echo 'make release  everything of a release but its tag: checks, wheels, notes, and what is left to do'
	@echo 'make test-lowest  the oldest numpy, scipy and scikit-learn that pyproject.toml allows'
	@echo 'make docs     the site, in build/site/index.html'
	@echo 'make look     every page of it in Chromium, as a screen and as a phone, light and dark: overflow, errors, contrast'
	@echo 'make clean    remove .venv, build and caches'

demo: $(VENV)/installed $(VENV)/with-cli
	@mkdir -p build
	@echo; echo '$$ onkel compare mixture -l all --rows 100000 --budget 100 --gamma 2'
	@$(BIN)/onkel compare mixture -l all --rows 100000 --budget 100 --gamma 2
	@echo; echo '$$ onkel compare switching -l all --rows 100000 --budget 100 --gamma 5 --every 1000 --report build/demo.html'
	@$(BIN)/onkel compare switching -l all --rows 100000 --budget 100 --gamma 5 --every 1000 --report build/demo.html
	@echo
	@echo 'Seen: each learner with 100 support vectors, on rows that stand still and on a target that changes; warnings are'
	@echo 'of learners that are meant to fail there. Newton leads both, since it chooses its kernel and its memory itself.'
	@echo 'Next: docs/start.md (five minutes), or onkel fit YOUR.csv --target COLUMN; build/demo.html has the curves.'

test: $(VENV)/installed $(VENV)/with-test $(VENV)/with-cli
	@echo 'Running the tests ...'
	$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST)

test-all: export ONKEL_WHOLE := 1
test-all: test

test-levels: $(VENV)/installed $(VENV)/with-test $(VENV)/with-cli
	@for level in baseline v3 v4 neon; do \
	  ONKEL_ISA=$$level $(BIN)/python -c 'import onkel; onkel.isa' 2>/dev/null || continue; \
	  $(BIN)/python -c "import onkel; exit(onkel.isa.removeprefix('x86-64-') != '$$level')" && continue; \
	  echo "ONKEL_ISA=$$level"; \
	  ONKEL_ISA=$$level $(BIN)/python -m pytest -n auto --dist loadgroup tests/test_docs.py $(PYTEST) || exit 1; \
	done

# mypy reads the packages that the extras need, of which the tests have all.
lint: $(VENV)/installed $(VENV)/with-lint $(VENV)/with-cli $(VENV)/with-test
	@failed=; run() { echo "$$*"; "$$@" || failed=1; }; \
	  run $(BIN)/ruff check; \
	  run $(BIN)/ruff format --check; \
	  run $(BIN)/mypy --strict -p onkel -p onkel_papers; \
	  run $(BIN)/zizmor --offline --quiet .github; \
	  echo 'clang-format --dry-run'; $(BIN)/clang-format --dry-run --Werror $(NATIVE_FILES) || failed=1; \
	  test -z "$$failed"

bench: $(VENV)/installed $(VENV)/with-bench $(VENV)/with-river $(VENV)/with-onnx $(VENV)/bench-programs
	@$(BIN)/python $(if $(BENCH),benchmarks/$(BENCH)_bench.py,benchmarks/run.py) $(BENCH_ARGS)

bench-long: $(VENV)/installed
	@$(BIN)/python benchmarks/run.py --long $(BENCH_ARGS)

sanitize: $(VENV)/installed $(VENV)/with-test
	ONKEL_SANITIZE=1 $(BIN)/python -m pytest tests/test_native.py

arm: $(VENV)/installed $(VENV)/with-test
	scripts/arm

cross: $(VENV)/installed $(VENV)/with-test $(VENV)/with-cross
	$(BIN)/python scripts/cross $(TARGETS)

mutants: $(VENV)/installed $(VENV)/with-test
	$(BIN)/python tests/mutants.py $(if $(CHANGED),--changed) $(if $(MOST),--most $(MOST))

drawn-mutants: $(VENV)/installed $(VENV)/with-test $(VENV)/with-mutants
	$(BIN)/python tests/drawn_mutants.py $(if $(MOST),--most $(MOST))

soak: $(VENV)/installed $(VENV)/with-test $(VENV)/with-cli
	ONKEL_SOAK_KILLS=100 $(BIN)/python -m pytest tests/test_checkpoint.py -k killed $(PYTEST)
	ONKEL_SOAK_KILLS=200 $(BIN)/python -m pytest tests/test_serve_kills.py $(PYTEST)
	ONKEL_SOAK_CASES=$(or $(CASES),50000) ONKEL_SOAK_FROM=$$(date +%s) $(BIN)/python -m pytest -n auto tests/test_cases.py $(PYTEST)

fuzz: $(VENV)/installed $(VENV)/with-test
	ONKEL_FUZZ_RUNS=100000 ONKEL_FUZZ_SEED=$$(date +%s) $(BIN)/python -m pytest \
	  tests/test_fuzz_files.py tests/test_libsvm.py -k nobody_wrote $(PYTEST)
	ONKEL_FUZZ_REQUESTS=10000 ONKEL_FUZZ_SEED=$$(date +%s) $(BIN)/python -m pytest tests/test_serve_fuzz.py $(PYTEST)
	scripts/fuzz 600

coverage: $(VENV)/installed $(VENV)/with-test $(VENV)/with-cli $(VENV)/with-coverage
	$(BIN)/python scripts/coverage $(if $(RECORD),--record) $(PYTEST)

flat: $(VENV)/installed $(VENV)/with-test
	ONKEL_STREAM_ROWS=10000000 $(BIN)/python -m pytest -s tests/test_streams.py -k flat_memory $(PYTEST)

wheel: $(VENV)/created $(VENV)/with-wheel
	$(BIN)/python scripts/wheel

release: $(VENV)/created $(VENV)/with-wheel
	$(BIN)/python scripts/release

test-lowest: $(VENV)/created $(VENV)/with-wheel
	$(BIN)/python scripts/wheel --lowest

docs: $(VENV)/installed $(VENV)/with-docs $(VENV)/with-cli
	$(BIN)/python scripts/site

look: docs $(VENV)/with-test
	$(BIN)/python scripts/look

clean:
	rm -rf $(VENV) build .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps: each says what .venv holds, and is older than what it was made of when that has changed.

# CMake and Ninja come from PyPI too: the machine's may be missing or too old, and nothing is built in isolation, so that
# a rebuild compiles changed files only.
$(VENV)/created: scripts/check-machine scripts/requirements
	@scripts/check-machine $(PYTHON)
	@echo 'Creating $(VENV), and fetching what builds onkel ...'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python scripts/requirements build > $(VENV)/build.txt
	@$(PIP) -r $(VENV)/build.txt cmake ninja
	@touch $@

$(VENV)/installed: $(VENV)/created $(SOURCES)
	@scripts/install $(BIN)/python
	@touch $@

$(VENV)/bench-programs: $(VENV)/installed $(wildcard benchmarks/native/*)
	@export PATH="$(CURDIR)/$(BIN):$$PATH" && \
	  cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DONKEL_PYTHON=OFF -DONKEL_TESTS=ON >/dev/null && \
	  cmake --build build/bench --target tile_bench gram_bench >/dev/null
	@touch $@

$(VENV)/with-%: $(VENV)/created pyproject.toml
	@echo 'Fetching the packages of the extra "$*" ...' >&2
	@$(BIN)/python scripts/requirements $* > $(VENV)/$*.txt
	@$(PIP) -r $(VENV)/$*.txt
	@touch $@
