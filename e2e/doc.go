// Package e2e drives the real agent CLI through agent-wrapper, against a
// scripted model endpoint of its own, in a network namespace that has only
// loopback. What ran is judged from what it left on disk and from what came
// back to the model, never from what the wrapper says of itself.
//
// All of it stands behind the build tag e2e:
//
//	npm ci --prefix e2e --ignore-scripts
//	go test -tags e2e ./e2e
//
// AW_E2E_MODULES names another node_modules folder, AW_E2E_BINARY a built
// agent-wrapper. AW_E2E_LONG=1 runs the long forms, with every agent CLI of
// package.json; the short ones take the newest. A test that cannot run here says
// why and is skipped; with CI=true that is a failure.
package e2e
