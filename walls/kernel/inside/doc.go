// Package inside is the first process inside walls: the program itself, started by
// package kernel in new namespaces, under another name. It builds the walls from the
// outside in, gives up every right to change them, starts the command, and ends when
// that ends; the kernel then ends whatever the command has left behind. Nothing is
// written to the file system outside: when the last process is gone, so is every mount.
//
// The process takes over in init, before main. It hears of its [Order] by a descriptor
// and says how it goes on a line to whoever has started it. Walls are built whole or not
// at all.
package inside
