//go:build unix

package doctor_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func TestDoctorSaysWhetherServersOfferTheirState(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\nlive = true\n[[plugins]]\npath = \"../plugins/first\"\n")
	admintest.Found(t, doctor.Examine(t.Context(), w.Options()), "audit", "; live state for other programs of the user")
	w.Write(t, hosttest.Ceiling, "[audit]\nlive = false\n")
	admintest.Found(t, doctor.Examine(t.Context(), w.Options()), "audit", "; no live state: "+w.Path(hosttest.Ceiling)+":1 forbids it")
}
