package decide

import (
	"testing"
	"testing/synctest"
)

// TestBudget: what is beyond a budget waits until something is done; a single thing
// always fits.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(2, 100)
		if b.take(1000); b.try(1) {
			t.Error("something fits beside what is too much")
		}
		b.give(1000)
		b.take(60)
		b.take(40)
		if b.try(0) {
			t.Error("three fit where two do")
		}
		b.give(40)
		if b.try(41) {
			t.Error("101 fit where 100 do")
		}
		fits := false
		go func() {
			b.take(50)
			fits = true
		}()
		if synctest.Wait(); fits {
			t.Error("it did not wait")
		}
		b.give(60)
		if synctest.Wait(); !fits {
			t.Error("it waits for nothing")
		}
		if b.count != 1 || b.bytes != 50 {
			t.Errorf("%d, %d bytes", b.count, b.bytes)
		}
	})
}
