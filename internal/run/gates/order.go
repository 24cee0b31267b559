package gates

import (
	"container/heap"
	"slices"
	"strings"
)

// order computes the order in which items run: of the items that wait for none,
// the first of the file comes next. Items are known by their index.
type order struct {
	items  []Item
	deps   [][]int // the items that an item waits for
	users  [][]int // the items that wait for it
	open   []int   // the number of items that it still waits for
	ready  minimum
	done   []int
	placed []bool
}

func newOrder(items []Item) *order {
	o := &order{
		items: items, deps: make([][]int, len(items)), users: make([][]int, len(items)),
		open: make([]int, len(items)), placed: make([]bool, len(items)),
	}
	index := map[string]int{}
	for i := range items {
		index[items[i].Name] = i
	}
	for i := range items {
		for _, name := range items[i].Deps {
			dep := index[name]
			o.deps[i] = append(o.deps[i], dep)
			o.users[dep] = append(o.users[dep], i)
		}
		if o.open[i] = len(items[i].Deps); o.open[i] == 0 {
			o.ready = append(o.ready, i) // ascending, hence a heap
		}
	}
	return o
}

// next places an item, and reports whether one was ready.
func (o *order) next() bool {
	if len(o.ready) == 0 {
		return false
	}
	i := heap.Pop(&o.ready).(int)
	o.done, o.placed[i] = append(o.done, i), true
	for _, user := range o.users[i] {
		if o.open[user]--; o.open[user] == 0 {
			heap.Push(&o.ready, user)
		}
	}
	return true
}

// circle describes a cycle among the items that could not be placed, each of
// which waits for another of them: "a → b → a". It begins with the cycle's
// first item in the file.
func (o *order) circle() (first int, names string) {
	at := slices.Index(o.placed, false)
	var way []int
	for !slices.Contains(way, at) {
		way = append(way, at)
		at = o.deps[at][slices.IndexFunc(o.deps[at], func(dep int) bool { return !o.placed[dep] })]
	}
	way = way[slices.Index(way, at):]
	start := slices.Index(way, slices.Min(way))
	var b strings.Builder
	for i := range way {
		b.WriteString(o.items[way[(start+i)%len(way)]].Name + " → ")
	}
	return way[start], b.String() + o.items[way[start]].Name
}

// minimum is a min-heap of indexes.
type minimum []int

func (m minimum) Len() int           { return len(m) }
func (m minimum) Less(i, j int) bool { return m[i] < m[j] }
func (m minimum) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *minimum) Push(x any)        { *m = append(*m, x.(int)) }
func (m *minimum) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
