# srfix. `make help` says what there is; every target sets up what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DOCKER := $(VENV)/.installed-docker
SPARK  := $(VENV)/.installed-spark
DOCS   := $(VENV)/.installed-docs
BROWSER := $(VENV)/.installed-browser

# The serde's native kernel. Everything works without it, so it is built where there is a cargo (`make REQUIRE_KERNEL=1` fails
# where there is none). maturin would fetch a whole Rust of its own.
CARGO  := $(or $(shell command -v cargo),$(wildcard $(HOME)/.cargo/bin/cargo))
CRATE  := serde/kernel
KERNEL := $(if $(CARGO),$(VENV)/.installed-kernel,no-cargo)
export MATURIN_NO_INSTALL_RUST := 1
# The crate's own tests are compiled to run once.
export CARGO_PROFILE_DEV_DEBUG := 0
export CARGO_INCREMENTAL := 0
ifneq ($(CARGO),)
export PATH := $(PATH):$(dir $(CARGO))
endif

# An older PySpark lives in an environment of its own; its jars are looked up by its release line (srfix.fixtures.jars).
# PySpark 3.5 holds NumPy below 2, which newer PyArrows cannot be imported with.
BESIDE_3.5 := 'pyarrow<22'
SPARKS := test-spark-3.5 test-spark-4.0 test-spark-4.1 test-spark-4.2

# Hundreds of tests start a Python of their own: compiled anew each time, srfix alone would take half of such a start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help kernel no-cargo kernel-wheel kernel-vendor demo test lint docs format chromium test-browser test-spark test-spark-X $(SPARKS) stack stack-smoke java jars images docker-test bench bench-spark fuzz sanitize wheel reference pyfiles clean

help: ## Say what there is
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9.-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "srfix needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.installed-kernel: $(STAMP) $(wildcard $(CRATE)/src/*.rs $(CRATE)/src/*/*.rs) $(CRATE)/Cargo.toml $(CRATE)/Cargo.lock $(CRATE)/pyproject.toml
	@echo "Building the serde's native kernel with $(CARGO); a minute or two the first time."
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps ./$(CRATE)
	@touch $@

no-cargo: $(STAMP)
	@echo "The serde's native kernel is not built: there is no cargo (https://rustup.rs). Python does its work."
	@[ -z "$(REQUIRE_KERNEL)" ]

kernel: $(KERNEL) ## Build the serde's native kernel into the environment, where there is a cargo

demo: $(STAMP) ## The whole incident, told on the embedded broker and registry
	$(BIN)/srfix demo

# The tests wait as long as they compute: two at a time for each core.
PYTEST := $(BIN)/python -m pytest -n $$($(BIN)/python -c 'import os; print(2 * (os.cpu_count() or 1))') --dist worksteal
# What of the serde's tests meets no engine of its codecs.
NO_CODECS := column_sources columns properties registries registry resolve spark subjects
CODECS := tests/serde $(NO_CODECS:%=--ignore=tests/serde/%)

test: $(KERNEL) ## The tests (no Java, no Docker); where there is a kernel, the serde's in Python too, and its own
	$(PYTEST)
ifneq ($(CARGO),)
	SRFIX_ENGINE=python $(PYTEST) $(CODECS)
	@if $(BIN)/python -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(os.path.join(s.get_config_var("LIBDIR"), s.get_config_var("INSTSONAME"))))'; then \
		PYO3_PYTHON=$(abspath $(BIN)/python) $(CARGO) test --quiet --locked --manifest-path $(CRATE)/Cargo.toml; \
	else \
		echo "The kernel's own tests are left out: this Python has no shared libpython to link with."; [ -z "$(REQUIRE_KERNEL)" ]; \
	fi
endif

lint: $(SPARK) $(KERNEL) docs ## ruff, who may import whom (import-linter), mypy (strict), code and tests; the site and its links; the kernel
ifneq ($(CARGO),)
	$(CARGO) fmt --check --manifest-path $(CRATE)/Cargo.toml
	PYO3_PYTHON=$(abspath $(BIN)/python) $(CARGO) clippy --quiet --locked --all-targets --manifest-path $(CRATE)/Cargo.toml -- -D warnings
endif
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@touch $@

# Without a warning about MkDocs 2, which srfix is held below; --quiet would keep warnings from --strict.
docs: $(DOCS) ## Build the site into build/site: README and its like, commands, findings, docstrings; its links are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file .ci/docs/mkdocs.yml

format: $(STAMP) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

java:
	@missing=; \
	[ -n "$$JAVA_HOME" ] || command -v java >/dev/null || missing=" openjdk-17-jre-headless"; \
	command -v mvn >/dev/null || missing="$$missing maven"; \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Real Kafka takes Java 17 and Maven. Installing Debian's packages:$$missing"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing; \
	else \
		echo "Real Kafka takes Java 17 and Maven. Missing here, by Debian's names:$$missing. Install them (or point" \
			"JAVA_HOME at a Java 17) and run again." >&2; exit 1; \
	fi

jars: java $(STAMP) ## Fetch real Kafka, Kafka Streams, Connect and the jars that Spark lacks (Java 17 and Maven)
	$(BIN)/python -m srfix.fixtures.jars

stack: jars $(KERNEL) ## The suite on real Kafka, Kafka Streams, Confluent's serdes and Apicurio
	$(BIN)/python -m pytest -n 3 --dist loadfile tests/stack

stack-smoke: jars ## Its first case: the incident and its repair on Kafka Streams 2.6.3
	$(BIN)/python -m pytest tests/stack/test_case_01_incident.py

$(SPARK): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[dev,spark-dev]' 'pyspark==4.3.0'
	@touch $@

test-spark: jars $(SPARK) $(KERNEL) ## The tests on a real Spark (classic and Connect) with Avro, and a real Kafka
	$(BIN)/python -m pytest -n 2 --no-loadscope-reorder tests/spark tests/serde/spark

.venv-spark-%/.installed: pyproject.toml $(STAMP)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --editable '.[dev,spark-dev]' 'pyspark==$*.*' $(BESIDE_$*)
	@touch $@

.PRECIOUS: .venv-spark-%/.installed
$(SPARKS): test-spark-%: java .venv-spark-%/.installed
	.venv-spark-$*/bin/python -m pytest -n 2 --no-loadscope-reorder tests/spark

test-spark-X: ## (X: 3.5, 4.0, 4.1, 4.2) The same on another PySpark, in an environment of its own
	@echo "Name the Spark: make $(SPARKS)" >&2; exit 2

chromium:
	@[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "The pages are opened in a real browser. Installing Debian's package: chromium"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; \
	else \
		echo "The pages are opened in a real browser. Missing here, by Debian's name: chromium. Install it (or point" \
			"CHROMIUM at one) and run again." >&2; exit 1; \
	fi

$(BROWSER): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[dev,browser]'
	@touch $@

test-browser: chromium $(BROWSER) ## The pages of --output html in a real browser (Chromium), with axe
	$(BIN)/python -m pytest tests/browser

$(DOCKER): $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docker]'
	@touch $@

images: java $(DOCKER) ## Have Kafka's and the registry's image: pulled, else stand-ins built from this machine's files
	$(BIN)/python -m srfix.fixtures.docker images

docker-test: java $(DOCKER) ## The incident against Kafka and a registry in containers, and srfix's own image; starts an engine where none runs
	$(BIN)/python -m srfix.fixtures.docker run -- $(BIN)/python -m pytest tests/docker

bench: $(KERNEL) ## Speed, as ratios against named peers in the same run
	$(BIN)/python -m tests.bench.bench_codec
ifneq ($(CARGO),)
	$(BIN)/python -m tests.bench.bench_kernel
endif
	$(BIN)/python -m tests.bench.bench_json
	$(BIN)/python -m tests.bench.bench_arrow
	$(BIN)/python tests/bench/bench_census.py
	$(BIN)/python tests/bench/bench_scale.py
	$(BIN)/python -m tests.bench.bench_state
	$(BIN)/python -m tests.bench.bench_start

bench-spark: jars $(SPARK) $(KERNEL) ## Both engines on Spark, and the default, beside what is written by hand; the census of both; stores on disk
	$(BIN)/python -m tests.bench.bench_spark
	$(BIN)/python -m tests.bench.bench_state_spark

fuzz: export SRFIX_ATTACKS := all
fuzz: $(KERNEL) jars $(SPARK) ## All cases that `make test` leaves out, a million broken payloads a format (hostile ones: a format and engine), and 20,000 worlds, new ones each time (FUZZ=N payloads, FOREIGN=N topics, FOREIGN_SPARK=N on Spark, CASES=N of the kernel's own, WORLDS=N worlds)
	$(PYTEST)
	SRFIX_FUZZ=$(or $(FUZZ),1000000) $(BIN)/python -m pytest -n auto --durations=0 tests/serde/fuzz || \
		{ echo "A failure is told as the payload and the schema or columns that it is of; to run it again, put the" \
			"@reproduce_failure line that is printed with it over the test's run()." >&2; exit 1; }
	$(MAKE) sanitize CASES=$(or $(CASES),5000)
	SRFIX_FOREIGN=$(or $(FOREIGN),3000) $(BIN)/python -m pytest -n 0 tests/serde/test_foreign_topics.py
	SRFIX_FOREIGN=$(or $(FOREIGN_SPARK),300) $(BIN)/python -m pytest -n 0 tests/spark/test_foreign_topics.py
	SRFIX_SEED=$${SRFIX_SEED:-$$(date +%s)} SRFIX_WORLDS=$(or $(WORLDS),20000) $(BIN)/python -m pytest -n auto --dist worksteal tests/recovery/test_worlds.py

# -Z needs RUSTC_BOOTSTRAP on a stable Rust; --target, so that build scripts and macros are left alone.
sanitize: $(STAMP) ## The kernel's own tests under AddressSanitizer, 500 arbitrary cases each (CASES=N)
ifneq ($(CARGO),)
	CARGO_PROFILE_DEV_DEBUG=true RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address PROPTEST_CASES=$(or $(CASES),500) PYO3_PYTHON=$(abspath $(BIN)/python) \
		$(CARGO) test --quiet --locked --manifest-path $(CRATE)/Cargo.toml \
		--target $$(rustc -vV | sed -n 's/^host: //p') --target-dir $(CRATE)/target/sanitize
endif

wheel: $(STAMP) ## Build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

kernel-wheel: $(STAMP) ## Build the kernel's wheel into dist/, for any Linux of this processor (zig stands in for its C library)
	$(BIN)/python -m pip install --quiet 'maturin[zig]>=1.8,<2'
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux2014 \
		--manifest-path $(CRATE)/Cargo.toml --out dist

kernel-vendor: ## Put the kernel's crates into build/vendor, to build it without a network (CARGO_NET_OFFLINE=true)
	@mkdir -p build
	$(CARGO) vendor --quiet --locked --manifest-path $(CRATE)/Cargo.toml build/vendor

reference: $(STAMP) ## Write the man pages (cli/man) and dist/commands.md from the commands themselves
	$(BIN)/python -m srfix.cli.reference man cli/man
	$(BIN)/python -m srfix.cli.reference markdown dist

pyfiles: $(STAMP) ## Build dist/srfix-pyfiles.zip, for spark-submit --py-files
	$(BIN)/python -m srfix.fixtures.pyfiles

clean: ## Remove what was built and fetched
	rm -rf $(CRATE)/target $(VENV) .venv-spark-* .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
