package server

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics are what /metrics shows, in the text format of Prometheus (exposition format
// 0.0.4). Its library is not linked, since it would cost every start of every command
// a millisecond: see decision 0049, docs/adr/server.md.
type metrics struct {
	began     time.Time
	open      func() int
	refusals  counter // by reason
	decisions counter // by behavior

	mu     sync.Mutex
	routes []*routeMetrics
}

// counter counts by the value of one label.
type counter struct {
	mu sync.Mutex
	by map[string]uint64
}

func (c *counter) add(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]uint64{}
	}
	c.by[label]++
}

// bounds are the upper bounds of the buckets of times, in seconds.
var bounds = []float64{.0005, .001, .0025, .005, .01, .025, .1, .5, 2.5, 10, 60}

// routeMetrics are the figures of a route.
type routeMetrics struct {
	method, path string
	statuses     counter
	buckets      [12]atomic.Uint64 // one for each of bounds, and the rest
	nanoseconds  atomic.Uint64
}

func newMetrics(open func() int) *metrics { return &metrics{began: time.Now(), open: open} }

// refused counts a request that reached no route.
func (m *metrics) refused(reason string) { m.refusals.add(reason) }

// route returns a function that is called at the begin of each request of a route, and
// returns one for its end.
func (m *metrics) route(rt *route) func() func(status int) {
	r := &routeMetrics{method: rt.method, path: rt.path}
	m.mu.Lock()
	m.routes = append(m.routes, r)
	m.mu.Unlock()
	return func() func(int) {
		begin := time.Now()
		return func(status int) {
			took := time.Since(begin)
			at, _ := slices.BinarySearch(bounds, took.Seconds())
			r.buckets[at].Add(1)
			r.nanoseconds.Add(uint64(took))
			r.statuses.add(strconv.Itoa(status))
		}
	}
}

// ServeHTTP writes the figures.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := bufio.NewWriter(w)
	m.write(out)
	_ = out.Flush() // an error ends the connection
}

func (m *metrics) write(w io.Writer) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	gauge(w, "agent_wrapper_up_seconds", "How long the server has been running.", time.Since(m.began).Seconds())
	gauge(w, "agent_wrapper_requests_open", "Open requests and streams.", float64(m.open()))
	gauge(w, "go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine()))
	gauge(w, "go_memstats_heap_inuse_bytes", "Number of heap bytes that are in use.", float64(mem.HeapInuse))
	gauge(w, "go_memstats_sys_bytes", "Number of bytes obtained from system.", float64(mem.Sys))
	head(w, "agent_wrapper_refused_total", "Requests refused before their route handled them.", "counter")
	m.refusals.write(w, "agent_wrapper_refused_total{reason=%s} %d\n")
	head(w, "agent_wrapper_decisions_total", "Decisions returned by POST /api/decisions.", "counter")
	m.decisions.write(w, "agent_wrapper_decisions_total{behavior=%s} %d\n")
	head(w, "agent_wrapper_requests_total", "Requests answered, by route and status.", "counter")
	for _, r := range m.routes {
		r.statuses.write(w, "agent_wrapper_requests_total{"+r.labels()+",status=%s} %d\n")
	}
	head(w, "agent_wrapper_request_seconds", "How long requests took, including waits.", "histogram")
	for _, r := range m.routes {
		r.writeTimes(w)
	}
}

// write writes a line for each label, by a format that has the label and the number.
func (c *counter) write(w io.Writer, format string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, label := range slices.Sorted(maps.Keys(c.by)) {
		fmt.Fprintf(w, format, quoted(label), c.by[label])
	}
}

func (r *routeMetrics) labels() string {
	return "method=" + quoted(r.method) + ",route=" + quoted(r.path)
}

// writeTimes writes the histogram of a route, whose buckets add up.
func (r *routeMetrics) writeTimes(w io.Writer) {
	var sum uint64
	for i := range r.buckets {
		sum += r.buckets[i].Load()
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		fmt.Fprintf(w, "agent_wrapper_request_seconds_bucket{%s,le=%s} %d\n", r.labels(), quoted(bound), sum)
	}
	fmt.Fprintf(w, "agent_wrapper_request_seconds_sum{%s} %g\n", r.labels(), time.Duration(r.nanoseconds.Load()).Seconds())
	fmt.Fprintf(w, "agent_wrapper_request_seconds_count{%s} %d\n", r.labels(), sum)
}

func gauge(w io.Writer, name, help string, value float64) {
	head(w, name, help, "gauge")
	fmt.Fprintf(w, "%s %g\n", name, value)
}

func head(w io.Writer, name, help, kind string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// quoted returns the value of a label.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(value) + `"`
}
