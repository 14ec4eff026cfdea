package install

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// withAudit adds an [audit] table to the config c if the ceiling requires an audit log and c has none. It
// returns the new config and the position of the ceiling's key. Otherwise it returns c. It also returns c if there is no
// default location for the log, or if a config cannot name it, since the user then has to choose one.
func withAudit(o discovery.Options, c *config.Config) (with *config.Config, requiredBy string, err error) {
	ceiling, err := discovery.FindCeiling(o.System)
	if err != nil || ceiling.AuditProblem(c.Audit, c.File) == "" {
		return c, "", err
	}
	places, err := discovery.FindPlaces(o)
	if err != nil || places.State == "" {
		return c, "", err
	}
	file := auditFile(o, places)
	if strings.Contains(strings.TrimPrefix(file, envHome), "${") {
		return c, "", nil // it would be read as a variable
	}
	with, err = c.AddAudit(file)
	if err != nil {
		return c, "", usage.Errorf("%w", err)
	}
	return with, fmt.Sprintf("%s:%d", ceiling.File, ceiling.AuditLine), nil
}

const envHome = "${env:HOME}"

// auditFile returns the path of an audit log in the state directory, relative to the variable HOME if possible, so that the
// config can be shared.
func auditFile(o discovery.Options, places config.Places) string {
	file := filepath.Join(places.State, "audit.jsonl")
	if home, _ := discovery.LookupEnv(o.System)("HOME"); filepath.IsAbs(home) && contain.Below(places.Home, file) {
		return envHome + strings.TrimPrefix(file, places.Home)
	}
	return file
}
