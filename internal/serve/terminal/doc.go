// Package terminal runs the commands of agents in terminal sessions that a person
// can watch, and take over at any moment.
package terminal
