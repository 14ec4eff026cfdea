package doctor

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// On systems other than Linux, the remedy names no setting of Linux, and there is one warning for all missing layers.
func TestMissingLayersOfOtherSystems(t *testing.T) {
	report := confine.Report{{Name: confine.LayerNamespaces, State: confine.Missing, Reason: "windows has no such layer"},
		{Name: confine.LayerLandlock, State: confine.Missing, Reason: "windows has no such layer"}, {Name: confine.LayerLimits, State: confine.Active}}
	e := &examination{}
	e.layers(report, "windows")
	if len(e.checks) != 2 || e.checks[0].Outcome != CheckWarning || !strings.Contains(e.checks[0].Detail, "namespaces, landlock") ||
		strings.Contains(e.checks[0].Remedy, "namespaces") || e.checks[1].Detail != "limits" {
		t.Errorf("got %+v", e.checks)
	}
	e = &examination{parsed: &config.Config{Server: &config.Server{Confined: true}}}
	e.layers(report, "windows")
	if len(e.checks) != 2 || e.checks[0].Outcome != CheckFailed {
		t.Errorf("required: got %+v", e.checks)
	}
	e = &examination{}
	e.layers(report, "linux")
	if len(e.checks) != 3 || !strings.Contains(e.checks[0].Remedy, "user namespaces") {
		t.Errorf("on Linux: got %+v", e.checks)
	}
}
