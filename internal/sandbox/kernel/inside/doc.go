// Package inside is what package kernel starts, in new namespaces and under another name,
// to build a sandbox around each command. It builds it from the outside in, around a process of
// its own for each command. That process gives up every right to change the sandbox, starts
// the command, and ends with it; the kernel then ends whatever the command has left behind. Nothing is
// written to the file system outside: when the last process is gone, so is every mount.
//
// It takes over in init, before main. It hears of each [Order] by a descriptor and says how
// it goes on a line to whoever has started it. The sandbox is built whole or not at all.
package inside
