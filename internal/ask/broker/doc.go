// Package broker asks for approvals elsewhere. [Local] keeps them in files, so that any
// terminal of the same user can answer; the interface is approval.Broker.
package broker
