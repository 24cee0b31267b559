# make demo    the main job, with nothing but Go installed
# make test    everything that holds the project together, in short forms
# make proof   the long forms; their raw output goes to docs/proof/
# make bench   benchmarks of the evaluator and its parts
# make release the archives of a release, in dist/ (go run ./internal/test/all release tests that)
# make STEP    one part of make test: install lint vuln unit race audit store execute whitelist programs hooks sandbox machine differential effects mutants manuals fuzz clients page nvim postgres serve e2e

export GOFLAGS ?= -buildvcs=false

.PHONY: release build demo test proof bench golden clean install lint vuln unit race audit store execute whitelist programs hooks sandbox machine differential effects mutants manuals fuzz clients page nvim postgres serve e2e

# Without cgo the program is not linked with libc: it starts a third sooner.
build:
	CGO_ENABLED=0 go build -o bin/ ./cmd/...

release:
	go run ./internal/release

demo:
	@go run ./cmd/agent-wrapper demo

test:
	go run ./internal/test/all

proof:
	go run ./internal/test/all -long

bench:
	go test -run '^$$' -bench . -benchmem ./...

install lint vuln unit race audit store execute whitelist programs hooks sandbox machine differential effects mutants manuals fuzz clients page nvim postgres serve e2e:
	go run ./internal/test/all $@

# golden rewrites what the tests compare with, docs/pictures too: read the diff. What is
# seen in Neovim is rewritten by go test -tags nvim ./internal/test/neovim -update.
golden:
	go test $$(grep -rl --include='*_test.go' --exclude-dir=node_modules internal/golden . | xargs -n1 dirname | sort -u) -update

clean:
	rm -rf bin dist
