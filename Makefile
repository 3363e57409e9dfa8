# Coffer's build. “make help” lists the targets; “make” builds.

# Where things are built, and where they are installed.
BUILD ?= .build
PREFIX ?= /usr/local
DESTDIR ?=
# mount(8) looks for mount.coffer in /sbin alone (which is /usr/sbin almost everywhere), whatever PREFIX is. For an
# installation of one's own, as below a home directory, it goes along, and note is given.
SBINDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/sbin,$(PREFIX)/sbin)
SWIFT ?= swift
# More options for the build of the tests.
BUILD_FLAGS ?=
# Options for Tests/run.py, as in: make test TEST_FLAGS='--filter Architecture'
TEST_FLAGS ?=
# More options for the benchmarks, as in: make bench BENCH_FLAGS='--rounds 3 --groups small'
BENCH_FLAGS ?=
# Seconds that “make fuzz” gives to each decoder, and which decoders; all if empty.
FUZZ_SECONDS ?= 60
DECODERS ?=
# A build of its own, as every module is compiled in another way.
FUZZ_BUILD ?= .build-fuzz

BIN_DIR = $(DESTDIR)$(PREFIX)/bin
SHARE_DIR = $(DESTDIR)$(PREFIX)/share

BINARY := $(BUILD)/release/coffer
# What is made from the binary: manual page and shell completions.
MADE := $(BUILD)/share
# Says when the binary was last brought up to date.
STAMP := $(BUILD)/coffer.stamp
INPUTS := Package.swift $(shell find Sources docs/man -type f)

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Shell scripts, for shellcheck.
SCRIPTS := $(wildcard .ci/*.sh docs/man/*.sh mount-helpers/*.sh Benchmarks/*.sh Tests/*.sh) .ci/run \
	$(addprefix mount-helpers/,mount.coffer.in umount.fuse.coffer.in desktop.in)

# What is exported, scripts of mount-helpers read.
export BUILD PREFIX DESTDIR SBINDIR

.PHONY: help deps build demo picture foreign-reader build-tests test applications crash power-cuts unsteady network chaos hostile model nightly tsan fuzz bench bench-quick bench-sharing bench-deps bench-parts bench-build lint format install uninstall deb try-deb clean

help: ## This list
	@awk -F ' *## *' '/^[a-z-]+:.*##/ { split($$1, name, ":"); printf "make %-14s %s\n", name[1], $$2 }' Makefile

deps: ## Install what this machine lacks (needs root; says what to install otherwise)
	@sh .ci/dependencies.sh

build: ## The coffer binary, optimized, with its manual page and shell completions
	@sh .ci/dependencies.sh build
	$(SWIFT) build --scratch-path $(BUILD) -c release --product coffer --static-swift-stdlib
	@mkdir -p $(MADE)
	@$(BINARY) --generate-completion-script bash > $(MADE)/coffer.bash
	@$(BINARY) --generate-completion-script zsh > $(MADE)/coffer.zsh
	@$(BINARY) --generate-completion-script fish > $(MADE)/coffer.fish
	@$(BINARY) --experimental-dump-help > $(MADE)/coffer.json
	@awk -v version="$$($(BINARY) --version)" -v date="$$(sh docs/man/manual-date.sh)" -v end=docs/man/manual-end.mdoc \
		-f docs/man/manual.awk $(MADE)/coffer.json > $(MADE)/coffer.1
	@touch $(STAMP)

# So that “make && sudo make install” builds nothing as root.
$(STAMP): $(INPUTS)
	@$(MAKE) --no-print-directory build

demo: deps build ## Show the main job on real files, from an empty profile to a comparison
	Tests/demo.sh $(BINARY)
	Tests/demo-sharing.sh $(BINARY)
	Tests/foreign-reader.sh $(BINARY)

picture: $(STAMP) ## Draw README's picture of the first minute anew (needs pexpect and rich for python3)
	python3 -B docs/images/first-minute.py $(BINARY)

foreign-reader: $(STAMP) ## Read a shared vault with a program that was written from the documents alone
	Tests/foreign-reader.sh $(BINARY)

build-tests: deps
	@sh .ci/check-fuse.sh
	$(SWIFT) build --scratch-path $(BUILD) --build-tests $(BUILD_FLAGS)

test: build-tests ## All tests (COFFER_SKIP_MOUNT=1 leaves out those that mount)
	python3 -B Tests/run.py $(BUILD) $(TEST_FLAGS)

applications: $(STAMP) ## Real programs in a real mount: git, SQLite, PostgreSQL, rsync, tar, compilers, … (root installs them)
	Tests/applications.sh $(BINARY)

crash: $(STAMP) ## kill -9 of mounts at all moments, and what is durable compared: ROUNDS=20, or HOURS=…, SEED=…
	$(SWIFT) build --scratch-path $(BUILD) -c release --product filesystem-workload
	Tests/crash.sh $(BINARY) $(BUILD)/release/filesystem-workload

power-cuts: deps ## Simulated power cuts with fresh seeds: HOURS=…, or SEEDS=FROM-TO
	$(SWIFT) build --scratch-path $(BUILD) --build-tests
	Tests/power-cuts.sh $(BUILD)

unsteady: deps ## Stories of devices over remotes in all kinds of trouble, with fresh seeds: HOURS=…, or SEEDS=FROM-TO
	$(SWIFT) build --scratch-path $(BUILD) --build-tests
	Tests/power-cuts.sh $(BUILD) unsteady

network: $(STAMP) ## Two mounts and a server over lines that delay, lose and fail, in network namespaces (root): SEED=1
	COFFER=$(abspath $(BINARY)) python3 -B Tests/network.py $(or $(SEED),1)

chaos: $(STAMP) ## Random stories of several members with live mounts, and what is lost or differs (root): SEED=1, MINUTES=5, MEMBERS=4, FLAGS=…
	COFFER=$(abspath $(BINARY)) python3 -B Tests/chaos.py $(or $(SEED),1) $(or $(MINUTES),5) $(or $(MEMBERS),4) $(FLAGS)

hostile: $(STAMP) ## Attacks on the storage of a vault that three mounts share, one by one: NAMES='…' for some (root)
	COFFER=$(abspath $(BINARY)) python3 -B Tests/hostile.py $(BUILD)/hostile $(NAMES)

model: deps ## Check the models of the protocol with spin, and that each of their rules is needed: NAMES='…' for some
	python3 -B Tests/model.py $(BUILD)/model $(NAMES)

nightly: crash power-cuts ## Both of these, for HOURS each

tsan: deps ## The tests with several threads, and a mount with several users, under the thread sanitizer
	Tests/thread-sanitizer.sh $(BUILD)-tsan

fuzz: deps ## Fuzz the decoders (FUZZ_SECONDS each, DECODERS for some of them; Tests/Fuzzing/README.md)
	COFFER_FUZZING=1 $(SWIFT) build --scratch-path $(FUZZ_BUILD) -c release -Xswiftc -enable-testing \
		--product coffer-fuzzer
	FUZZ_SECONDS=$(FUZZ_SECONDS) sh Tests/Fuzzing/fuzz.sh $(FUZZ_BUILD)/release/coffer-fuzzer \
		$(FUZZ_BUILD)/fuzz $(DECODERS)

bench: bench-build ## Time Coffer against its peers, for hours (as root); the report goes to docs/benchmarks
	$(BUILD)/release/coffer-benchmarks --coffer $(BINARY) --output docs/benchmarks $(BENCH_FLAGS)

bench-quick: bench-build ## The same in small, against gocryptfs, the plain disk and a pass-through
	$(BUILD)/release/coffer-benchmarks --coffer $(BINARY) --quick --output $(BUILD)/benchmarks $(BENCH_FLAGS)

bench-sharing: build ## Time a vault that two mounts share through a folder, for minutes
	Benchmarks/sharing.sh $(BINARY)

bench-parts: build ## Time parts of Coffer alone: ciphers, rows of the index, reads
	$(SWIFT) build --scratch-path $(BUILD) -c release --product coffer-microbenchmarks --static-swift-stdlib
	$(BUILD)/release/coffer-microbenchmarks $(BENCH_FLAGS)

bench-deps: ## Install the peers (needs root and apt)
	apt-get install -y gocryptfs securefs encfs cryfs rclone git tar grep util-linux

bench-build: build
	@for product in coffer-benchmarks fuse-ceiling-memory fuse-ceiling-passthrough; do \
		$(SWIFT) build --scratch-path $(BUILD) -c release --product $$product --static-swift-stdlib || exit 1; \
	done

lint: deps ## Check the form of all Swift files and shell scripts
	$(SWIFT) format lint --strict --parallel --recursive Sources Tests Benchmarks Package.swift
	@if command -v shellcheck >/dev/null; then set -x; shellcheck -x -S warning $(SCRIPTS); \
	else echo "note: shellcheck is not installed; the shell scripts are not checked" >&2; fi

format: deps ## Bring all Swift files into form
	$(SWIFT) format format --in-place --parallel --recursive Sources Tests Benchmarks Package.swift

install: $(STAMP) ## Install below PREFIX (/usr/local) in DESTDIR
	install -D -m 755 -s $(BINARY) $(BIN_DIR)/coffer
	install -D -m 644 $(MADE)/coffer.1 $(SHARE_DIR)/man/man1/coffer.1
	install -D -m 644 $(MADE)/coffer.bash $(SHARE_DIR)/bash-completion/completions/coffer
	install -D -m 644 $(MADE)/coffer.zsh $(SHARE_DIR)/zsh/site-functions/_coffer
	install -D -m 644 $(MADE)/coffer.fish $(SHARE_DIR)/fish/vendor_completions.d/coffer.fish
	install -D -m 644 LICENSE $(SHARE_DIR)/doc/coffer/LICENSE
	sh mount-helpers/install.sh install

uninstall: ## Remove what install put there
	rm -f $(BIN_DIR)/coffer $(SHARE_DIR)/man/man1/coffer.1 \
		$(SHARE_DIR)/bash-completion/completions/coffer $(SHARE_DIR)/zsh/site-functions/_coffer \
		$(SHARE_DIR)/fish/vendor_completions.d/coffer.fish $(SHARE_DIR)/doc/coffer/LICENSE
	-rmdir $(SHARE_DIR)/doc/coffer 2>/dev/null
	sh mount-helpers/install.sh uninstall

deb: $(STAMP) ## A package for Debian, in BUILD/deb
	sh mount-helpers/build-deb.sh $(BUILD)/deb

try-deb: deb ## Install, use and purge the package in a fresh Debian (root, network, minutes)
	sh mount-helpers/try-deb.sh $(BUILD)/deb/coffer_*.deb

clean: ## Remove what was built
	rm -rf $(BUILD) $(BUILD)-tsan $(FUZZ_BUILD)
