package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestStreamModel: a viewer sees what was written from its position on, or is told
// what it has missed.
func TestStreamModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var s stream
		var all []byte
		views := []*View{s.view(0)}
		seen := []int64{0}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			switch rapid.IntRange(0, 2).Draw(r, "step") {
			case 0:
				n := rapid.SampledFrom([]int{0, 1, 4095, 4096, 70000, kept / 2, kept, kept + 5}).Draw(r, "bytes")
				p := make([]byte, n)
				for i := range p {
					p[i] = byte(len(all) + i*7)
				}
				s.Write(p)
				all = append(all, p...)
			case 1:
				at := rapid.Int64Range(-1, int64(len(all))+9).Draw(r, "position")
				views, seen = append(views, s.view(at)), append(seen, max(0, at))
			default:
				i := rapid.IntRange(0, len(views)-1).Draw(r, "view")
				from := seen[i]
				oldest := max(0, int64(len(all))-kept)
				if from < oldest || from > int64(len(all)) {
					from = oldest
				}
				if from == int64(len(all)) {
					continue // it would wait
				}
				out, err := views[i].Next(t.Context())
				if err != nil || out.At != from || out.Lost != max(0, from-seen[i]) || len(out.Data) == 0 || !bytes.Equal(out.Data, all[from:][:len(out.Data)]) {
					r.Fatalf("from %d of %d: at %d, %d bytes, %d lost, %v", seen[i], len(all), out.At, len(out.Data), out.Lost, err)
				}
				seen[i] = out.At + int64(len(out.Data))
			}
		}
	})
}

func TestViewWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stream
		got := make(chan string)
		for range 3 {
			go func() {
				v, text := s.view(0), ""
				for {
					out, err := v.Next(t.Context())
					if err != nil {
						got <- text + err.Error()
						return
					}
					text += string(out.Data)
				}
			}()
		}
		for _, p := range []string{"a", "b", "c"} {
			synctest.Wait()
			io.WriteString(&s, p)
		}
		synctest.Wait()
		s.close()
		for range 3 {
			if text := <-got; text != "abcEOF" {
				t.Error(text)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var open stream
		if _, err := open.view(0).Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
