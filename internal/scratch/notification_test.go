package scratch_test

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/scratch"
)

func TestIsStartReport(t *testing.T) {
	for params, want := range map[string]bool{
		`{"progress":0.000001,"message":"starting plugin it"}`:                         true,
		`{"progress":0.000002,"message":"compiling the module of plugin it, which …"}`: true,
		`{"progress":1,"message":"starting plugin it"}`:                                false,
		`{"progress":0.000001,"message":"half"}`:                                       false,
		`{"message":"starting plugin it"}`:                                             false,
		`[]`:                                                                           false,
	} {
		if got := scratch.IsStartReport("notifications/progress", []byte(params)); got != want {
			t.Errorf("%s: got %v", params, got)
		}
	}
	if !scratch.IsStartReport("notifications/message", []byte(`{"logger":"bulkhead","data":"starting plugin it"}`)) {
		t.Error("a log message is not recognized")
	}
}
