//go:build !race

package broker

// raceDetector says that the race detector is on.
const raceDetector = false
