// Package hook answers the hooks of agents that people run in their own windows. An
// agent that is about to use a tool starts agent-wrapper with a payload, which says
// what it wants to do. The package reads it, has the engine decide, and answers in
// the form of that agent.
//
// What is particular to an agent, a [Host], has a package of its own below; package
// hosts has the table of all. A Host reads payloads and writes answers, and does not
// decide.
//
// Hosts let a tool run when a hook crashes, exits with code 1, answers in a shape they
// do not know, or takes too long. So [Main] always ends before the limit, catches
// panics, and denies whatever it cannot read, decide or record. The shapes, limits and
// what fails open were measured on the hosts; docs/hosts.md has the versions.
package hook
