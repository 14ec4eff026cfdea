package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// sentNotifications is a gateway.Notifier that records the notifications that it gets.
type sentNotifications struct {
	gateway.Notifier
	sent []string
}

func (n *sentNotifications) Notify(_ context.Context, method string, params json.RawMessage) error {
	n.sent = append(n.sent, method+" "+string(params))
	return nil
}

func (n *sentNotifications) NotifyOf(ctx context.Context, _ gateway.Source, method string, params json.RawMessage) error {
	return n.Notify(ctx, method, params)
}

func TestStartIsReportedBeforeTheProgressOfTheModule(t *testing.T) {
	var client sentNotifications
	p := &plugin{Plugin: &catalog.Plugin{Manifest: &manifest.Manifest{}}, runner: &runner{}}
	p.Name = "notes"
	p.runner.compiling.Add(1)
	v := &pluginNotifier{Notifier: &client, plugin: p}
	v.reportStart(t.Context())
	p.runner.compiling.Add(-1)
	v.reportStart(t.Context())
	for _, progress := range []string{"0", "0.000001", "0.5", "1"} {
		if err := v.Notify(t.Context(), methodProgress, json.RawMessage(`{"progress":`+progress+`}`)); err != nil {
			t.Error(err)
		}
	}
	const compiling = `"compiling the module of plugin notes, which happens once for each version"`
	want := []string{
		`notifications/message {"level":"info","logger":"bulkhead","data":` + compiling + `}`,
		`notifications/progress {"progress":0.000001,"message":` + compiling + `}`,
		`notifications/progress {"progress":0.000002,"message":"starting plugin notes"}`,
		`notifications/progress {"progress":0.5}`,
		`notifications/progress {"progress":1}`,
	}
	if !slices.Equal(client.sent, want) {
		t.Errorf("got %q, want %q: progress must increase", client.sent, want)
	}
	for i, line := range client.sent {
		if method, params, _ := strings.Cut(line, " "); IsStartReport(method, []byte(params)) != (i < 3) {
			t.Errorf("%s: IsStartReport is %v", line, i >= 3)
		}
	}
}

func TestIsStartReport(t *testing.T) {
	for params, want := range map[string]bool{
		`{"progress":0.000001,"message":"starting plugin it"}`:                         true,
		`{"progress":0.000002,"message":"compiling the module of plugin it, which …"}`: true,
		`{"progress":1,"message":"starting plugin it"}`:                                false,
		`{"progress":0.000001,"message":"half"}`:                                       false,
		`{"message":"starting plugin it"}`:                                             false,
		`[]`:                                                                           false,
	} {
		if got := IsStartReport("notifications/progress", []byte(params)); got != want {
			t.Errorf("%s: got %v", params, got)
		}
	}
	if !IsStartReport("notifications/message", []byte(`{"logger":"bulkhead","data":"starting plugin it"}`)) {
		t.Error("a log message is not recognized")
	}
}

func TestProgressOfACallWithoutReportsIsUnchanged(t *testing.T) {
	var client sentNotifications
	v := &pluginNotifier{Notifier: &client, plugin: &plugin{Plugin: &catalog.Plugin{Manifest: &manifest.Manifest{}}, runner: &runner{}}}
	if err := v.Notify(t.Context(), methodProgress, json.RawMessage(`{"progress":0}`)); err != nil || len(client.sent) != 1 {
		t.Errorf("got %q, %v", client.sent, err)
	}
}
