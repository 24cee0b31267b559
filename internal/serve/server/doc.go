// Package server is the approval service: decisions, terminal sessions and approvals
// over HTTP, for agents and people that have a credential. docs/reference/api.md has the API,
// and GET /openapi.json the same for programs; both are made from the table of routes.
//
// What it holds:
//
//   - Who asks, answers or takes over is the owner of the credential, whatever a body
//     says. The credential of an agent never approves, interrupts, releases, or sees
//     what belongs to another.
//   - No secret is sent: requests are signed, count once, and are answered with a proof
//     that this is the server, see package signed. Only the public half of a credential's
//     key is kept. One that is revoked or has expired ends its open requests and streams,
//     within a second.
//   - A browser is let in by a one-time code. What lets it in ends with the server, since
//     another program may serve the same origin after that.
//   - A request whose Host or Origin is not the server's own is refused, so that no
//     other page reaches it, also by a name that resolves to it.
//
// Nothing here decides: tool uses are decided by engine.Engine.CanUseTool, approvals
// by approval.Step.
package server
