package risk

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkClassify parses and classifies lines that people write, each time
// another one. Beside the mean it reports the slowest of a hundred runs and, of
// the fastest run of each line, the slowest of a hundred lines, which excludes
// what other processes cost.
func BenchmarkClassify(b *testing.B) {
	all := slices.DeleteFunc(lines(b), func(line string) bool { return line == "" })
	for name, set := range map[string][]string{"to200B": upTo(all, 200), "2KiB": joined(all, 2<<10)} {
		b.Run(name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			fastest := make([]time.Duration, min(len(set), b.N))
			for i := range b.N {
				line := set[i%len(set)]
				start := time.Now()
				Facts(analyze(line), Default)
				d := time.Since(start)
				took = append(took, d)
				if best := &fastest[i%len(set)]; *best == 0 || d < *best {
					*best = d
				}
			}
			b.ReportMetric(float64(len(set)), "lines")
			b.ReportMetric(percentile(took, 50), "p50-µs")
			b.ReportMetric(percentile(took, 99), "p99-µs")
			b.ReportMetric(percentile(fastest, 99), "p99-fastest-µs")
		})
	}
}

func percentile(took []time.Duration, p int) float64 {
	slices.Sort(took)
	return float64(took[len(took)*p/100]) / float64(time.Microsecond)
}

// upTo returns the lines of at most n bytes.
func upTo(all []string, n int) []string {
	return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return len(line) > n })
}

// joined joins successive lines into lines of about n bytes. Lines that do not
// parse, or are longer, are left out.
func joined(all []string, n int) []string {
	var out, parts []string
	size := 0
	for _, line := range all {
		if len(line) > n/2 || strings.ContainsAny(line, "\\#") || analyze(line).Failed != nil || strings.Contains(line, "<<") {
			continue
		}
		if size+len(line)+1 > n {
			out, parts, size = append(out, strings.Join(parts, "\n")), nil, 0
		}
		parts, size = append(parts, line), size+len(line)+1
	}
	return out
}
