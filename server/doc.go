// Package server is the approval service: decisions, terminal sessions and approvals
// over HTTP, for agents and people that have a credential. docs/reference/api.md has the API,
// and GET /openapi.json the same for programs; both are made from the table of routes.
//
// What it holds:
//
//   - Who asks, answers or takes over is the owner of the credential, whatever a body
//     says. The credential of an agent never approves, interrupts, releases, or sees
//     what belongs to another.
//   - Only the hash of a credential is kept. One that is revoked or has expired ends
//     its open requests and streams, within a second.
//   - A browser is let in by a one-time code. Its cookie alone is worth nothing: every
//     request also carries what only a page of the same origin can read.
//   - A request whose Host or Origin is not the server's own is refused, so that no
//     other page reaches it, also by a name that resolves to it.
//
// Nothing here decides: tool uses are decided by engine.Engine.CanUseTool, approvals
// by approval.Step.
package server
