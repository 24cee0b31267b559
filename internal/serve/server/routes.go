package server

import "slices"

// routes returns the table of routes.
func routes() []route {
	return slices.Concat(systemRoutes(), sessionRoutes(), approvalRoutes(), decisionRoutes(), ruleRoutes(), policyRoutes(), recordRoutes(), recordingRoutes(), streamRoutes())
}
