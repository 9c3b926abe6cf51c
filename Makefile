# hermes-batch needs Go alone; the race detector and DuckDB in verify need a C++ compiler too.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 10m
# Packages that ./... does not find.
MEASURES := ./testdata/figures ./testdata/bench ./testdata/crash ./testdata/crash/power ./testdata/soak ./testdata/shipped ./testdata/fuzzers ./testdata/leak ./testdata/machine

.PHONY: build test race fuzz bench figures crash soak lint demo verify clean

build:
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o hermes-batch .

test:
	go vet ./... $(MEASURES)
	go test ./... $(MEASURES)

race:
	CGO_ENABLED=1 go test -race -timeout 20m ./...

# DuckDB and Apache Arrow read the Parquet copy; a run of yours: make verify VERIFY='-args -folder=$PWD/data/NAME'
verify:
	CGO_ENABLED=1 go -C testdata/verify test -mod=mod -count=1 . $(VERIFY)

# All fuzz targets together take FUZZTIME: make fuzz FUZZTIME=1h FUZZ='-only db.FuzzOpen'
fuzz:
	go run ./testdata/fuzzers -time $(FUZZTIME) $(FUZZ)

# BENCH takes flags, as in: make bench BENCH='-only commits -json figures.json'
bench:
	go run ./testdata/bench $(BENCH)

# What BENCHMARKS.md shows, in twenty quiet minutes; a scenario alone: make figures BENCH='-only commits'
figures:
	go run ./testdata/bench -long -json testdata/figures/bench.json $(BENCH)
	go run ./testdata/bench -publish

# Says whether anything is lost: make crash CRASH='-only kills -kills 1000'
crash:
	go run ./testdata/crash $(CRASH)

# Twenty minutes of everything that can go wrong at once: make soak SOAK='-time 2m -kill 30s'
soak:
	go run ./testdata/soak $(SOAK)

lint:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	go vet ./... $(MEASURES)
	go run $(STATICCHECK) ./... $(MEASURES)

# Runs again as well: the run before is moved aside.
demo: build
	./hermes-batch --dataset_file=testdata/prompts.jsonl --batch_size=10 --run_name=demo \
		--model=simulated --distribution=local --overwrite
	@echo; ls -l data/demo

clean:
	rm -f hermes-batch
