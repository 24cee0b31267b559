// Package arch tests the rules of the source tree: which packages may import
// which, use which library or touch the machine, and that only package
// permission decides. It has no code of its own.
package arch
