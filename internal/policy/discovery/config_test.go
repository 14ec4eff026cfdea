package discovery_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestNamedConfigFileIsRelativeToWorkingDirectory(t *testing.T) {
	w := hosttest.New(t)
	o := w.Options()
	for named, want := range map[string]string{"": "/work/bulkhead.toml", "../x.toml": "/x.toml", w.Dir + "/y": "/y"} {
		o.ConfigFile = named
		if got, err := discovery.FindConfig(o); err != nil || got.File != w.Dir+want {
			t.Errorf("FindConfig with --config %q returned %+v, %v", named, got, err)
		}
	}
}

func TestUnreadableSecretIsError(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"key": "a secret\n"})
	w.Env["SET"] = "a secret"
	for want, c := range map[string]config.Credential{
		"":                      {Env: "SET"},
		"the variable NONE is ": {Env: "NONE"},
		"no such file":          {File: w.Dir + "/none"},
	} {
		_, err := discovery.Secret(w.Options().System, &c)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Secret(%+v): got the error %v", c, err)
		}
	}
	if _, err := discovery.Secret(w.Options().System, &config.Credential{File: w.Dir + "/key"}); err != nil {
		t.Error(err)
	}
}
