package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestSecretsRefused(t *testing.T) {
	for text, want := range map[string]string{
		conf("env = { A = {} }"):                                                       "plugins[0].env.A: has neither file nor command",
		conf("env = { A = { file = '/x', command = ['x'] } }"):                         "plugins[0].env.A.command: conflicts with file",
		conf("env = { A = { value = 'hunter2' } }"):                                    "plugins[0].env.A.value: is not a known key",
		conf("env = { A = { file = 'hunter2' } }"):                                     "plugins[0].env.A.file: is not absolute",
		conf("env = { A = { file = '' } }"):                                            "plugins[0].env.A.file: is not absolute",
		conf("env = { A = { file = '/x/${env:1}hunter2' } }"):                          "plugins[0].env.A.file: has a ${env:",
		conf("env = { A = { command = [] } }"):                                         "plugins[0].env.A.command: has 0 items, and must have 1 to 64",
		conf("env = { A = { command = 'pass hunter2' } }"):                             "plugins[0].env.A.command: is a string, not an array of strings",
		conf("env = { A = { command = [''] } }"):                                       "plugins[0].env.A.command[0]: is empty",
		conf("env = { A = { command = ['./hunter2'] } }"):                              "plugins[0].env.A.command[0]: is a relative path",
		conf("env = { A = { command = ['..\\hunter2'] } }"):                            "plugins[0].env.A.command[0]: is a relative path",
		conf("env = { A = { command = ['x', \"hunter2\\u0000\"] } }"):                  "plugins[0].env.A.command[1]: contains a NUL byte",
		conf("env = { A = { command = ['x', '" + strings.Repeat("y", 4097) + "'] } }"): "plugins[0].env.A.command[1]: has more than 4096 bytes",
		conf("env = { A = { command = [" + strings.Repeat("'x',", 65) + "] } }"):       "plugins[0].env.A.command: has 65 items",
		conf("env = { 'A B' = { command = ['x'] } }"):                                  "plugins[0].env",
		"[credentials.c]\nenv = 'A'\ncommand = ['x']\n":                                "credentials.c.command: conflicts with env",
		"[credentials.c]\nfile = '/x'\ncommand = ['x']\n":                              "credentials.c.command: conflicts with file",
		"[credentials.c]\ncommand = ['a/b']\n":                                         "credentials.c.command[0]: is a relative path",
		"[credentials.c]\n":                                                            "credentials.c.env: is missing",
	} {
		_, ps := config.Parse("/etc/bulkhead.toml", []byte(onHost(text)))
		err := ps.Err()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.100s: got the problems %v, want %s", text, ps, want)
		}
	}
}

// TestSecretsAreGranted checks that a variable with a secret value is decided and narrowed like any other, and that a ceiling can forbid
// commands.
func TestSecretsAreGranted(t *testing.T) {
	const text = "env = { A = { command = ['pass', 'show', 'a'] }, B = { file = '/b' }, C = 'c' }\nhttp = [{ origin = 'https://x', credential = 'k' }, 'https://y']\n"
	cfg := parse(t, onHost(conf(text)+"[credentials.k]\ncommand = ['pass']\n"))
	m := &manifest.Manifest{Name: "notes", Capabilities: manifest.Capabilities{Env: []string{"*"}, HTTP: []string{"*"}}}
	for bound, want := range map[string]string{
		"":                        "A B C; https://x https://y",
		"secret_commands = true":  "A B C; https://x https://y",
		"secret_commands = false": "B C; https://y",
		"env = ['A', 'C']":        "A C; https://x https://y",
		"env = []":                "; https://x https://y",
	} {
		ceiling, ps := config.ParseCeiling("/etc/bulkhead/bulkhead.toml", []byte(all(bound)))
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		grant, ps := config.Decide(m, cfg.Plugins[0], cfg.Defaults, places, config.Flags{Env: map[string]string{}})
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		grant, ps = ceiling.Narrow(m, cfg.Plugins[0], places, grant)
		var names, origins []string
		for name := range grant.Env {
			names = append(names, name)
		}
		for name := range grant.Secrets {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, h := range grant.HTTP {
			origins = append(origins, h.String())
		}
		check(t, bound, want, strings.Join(names, " ")+"; "+strings.Join(origins, " "))
		if reduced := want != "A B C; https://x https://y"; reduced != (len(ps) > 0) {
			t.Errorf("%s: got the warnings %v", bound, ps)
		}
	}
	_, ps := config.Decide(&manifest.Manifest{Name: "notes"}, cfg.Plugins[0], cfg.Defaults, places, config.Flags{})
	if text := fmt.Sprint(ps); !strings.Contains(text, "plugins[0].env.A: notes does not ask for this variable") {
		t.Errorf("got %s", text)
	}
}

// TestSecretsAreEdited checks that the table of a plugin with secret values is written as it was read.
func TestSecretsAreEdited(t *testing.T) {
	cfg := parse(t, onHost(conf("env = { A = { command = ['pass', \"it's\"] }, B = { file = '/b' }, C = 'c' }\n")))
	again := parse(t, config.Table(cfg.Plugins[0]))
	check(t, "env", fmt.Sprintf("%v %v", cfg.Plugins[0].Env, cfg.Plugins[0].Secrets), fmt.Sprintf("%v %v", again.Plugins[0].Env, again.Plugins[0].Secrets))
}
