// Package arch holds the rules of the tree as tests: who may import whom, who
// may use which library, who may touch the machine, and that nobody but
// package permission decides. It has no code of its own.
package arch
