// Package editor lets an editor that has started agent-wrapper as a child process lead
// a conversation with the agent: an [Editor] reads what the editor sends, one JSON
// object a line, drives a turn of the agent for each message, puts the agent's
// questions to the editor (package desk) and passes its answers on. What happens is
// reported as events (package wrapper). docs/reference/protocol.md describes the lines.
//
// An editor that ends the stream, or dies, has everything denied that waits, and the
// agent ends.
package editor
