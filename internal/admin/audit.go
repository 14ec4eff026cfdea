package admin

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// withAudit adds an [audit] table to data, the content of the config c, if the ceiling requires an audit log and c has none. It
// returns the new content and the position of the ceiling's key. Otherwise it returns data. It also returns data if there is no
// default location for the log, since the user then has to choose one.
func withAudit(o discovery.Options, c *config.Config, data []byte) (content []byte, requiredBy string, err error) {
	ceiling, err := discovery.FindCeiling(o.System)
	if err != nil || ceiling.AuditProblem(c.Audit, c.File) == "" {
		return data, "", err
	}
	places, err := discovery.FindPlaces(o)
	if err != nil || places.State == "" {
		return data, "", err
	}
	content, err = config.AddAudit(c.File, data, auditFile(o, places))
	if err != nil {
		return data, "", usageErrorf("%w", err)
	}
	return content, fmt.Sprintf("%s:%d", ceiling.File, ceiling.AuditLine), nil
}

// auditFile returns the path of an audit log in the state directory, relative to the variable HOME if possible, so that the
// config can be shared.
func auditFile(o discovery.Options, places config.Places) string {
	file := filepath.Join(places.State, "audit.jsonl")
	if home, _ := discovery.LookupEnv(o.System)("HOME"); filepath.IsAbs(home) && contain.Below(places.Home, file) {
		return "${env:HOME}" + strings.TrimPrefix(file, places.Home)
	}
	return file
}
