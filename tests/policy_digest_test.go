//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorNamesServersThatDiffer compares two servers, of which one then gets another config.
func TestDoctorNamesServersThatDiffer(t *testing.T) {
	t.Parallel()
	plugin := filepath.Join(copyPlugins(t, "time"), "time")
	configs, urls := make([]string, 2), make([]string, 2)
	for i := range configs {
		configs[i] = filepath.Join(newDir(t, nil), "bulkhead.toml")
		putFile(t, configs[i], fmt.Sprintf("[[plugins]]\npath = %q\n", plugin))
		urls[i] = httpURL(t, startServer(t, programCommand(t, "serve", "--config", configs[i], "--http", "127.0.0.1:0")))
	}
	compare := func() (ok bool, policies [2]string, detail string) {
		t.Helper()
		cmd := programCommand(t, "doctor", "--json", "--url", urls[0], "--url", strings.TrimSuffix(urls[1], "/mcp"))
		out, err := cmd.Output()
		var result struct {
			OK     bool
			Checks []struct{ Policy, Detail string }
		}
		if jsonErr := json.Unmarshal(out, &result); jsonErr != nil || len(result.Checks) != 3 || (err == nil) != result.OK || !result.OK && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("got %s, %v, %v", out, err, jsonErr)
		}
		return result.OK, [2]string{result.Checks[0].Policy, result.Checks[1].Policy}, result.Checks[2].Detail
	}
	ok, before, detail := compare()
	if !ok || len(before[0]) != 64 || before[0] != before[1] {
		t.Errorf("equal servers: got %v: %s", before, detail)
	}
	putFile(t, configs[1], fmt.Sprintf("[[plugins]]\npath = %q\ndeny_tools = [\"convert_time\"]\n", plugin))
	waitFor(t, "the change", func() bool {
		answer, err := http.Get(strings.TrimSuffix(urls[1], "/mcp") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.Header.Get("Bulkhead-Policy") != before[1]
	})
	ok, after, detail := compare()
	if ok || after[0] != before[0] || after[1] == before[1] || !strings.Contains(detail, urls[0]) {
		t.Errorf("servers that differ: got %v: %s", after, detail)
	}
}
