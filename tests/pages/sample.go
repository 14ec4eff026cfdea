package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// hostile is a name that is HTML.
const hostile = `<img src=x onerror=alert(1)>"`

// config is the config of a sample. DIR, ODD and PLUGINS are replaced.
const config = `[server]
name = "workshop"

[audit]
file = 'DIR/audit.jsonl'
live = true

[http]
tokens = true

[[clients]]
name = "ci"
match = { tokens = ["ci-*"] }
plugins = ["filesystem", "git"]
read_only = true

[[clients]]
name = "team"
match = { auth = "any" }
deny_tools = ["git_commit", "git_reset", "misbehave_*"]
fs = [{ path = "${project}", access = "r" }]

[[plugins]]
path = "PLUGINS/filesystem"
deny_tools = ["move_file"]
approve_tools = ["write_file"]
limits = { ask = "1h" }
fs = [
  { path = "${project}", access = "rw" },
  { path = 'DIR/notes', access = "rw" },
  { path = 'DIR/archiveODD', access = "r" },
]

[[plugins]]
path = "PLUGINS/git"
git = [{ repo = "${project}", access = "commit" }]

[[plugins]]
path = "PLUGINS/chant"

[[plugins]]
path = "PLUGINS/fetch"
http = ["https://example.com", "https://docs.example.org"]

[[plugins]]
path = "PLUGINS/memory"

[[plugins]]
path = "PLUGINS/time"

[[plugins]]
path = 'DIR/misbehave'
limits = { time = "1h", queue = "1h", concurrency = 2 }
`

// sample is an installation, with servers whose calls run, and a running `bulkhead ui` of it.
type sample struct {
	program, odd         string
	dir, project, config string
	token                string // of the client ci-build
	environment          []string
	base, link           string
	paths                []string
	log                  io.Writer // what the programs write to stderr
	running              []*exec.Cmd
	inputs               []io.Closer
}

// startSample makes a sample. odd is appended to the names of clients, directories and tools; it may be empty.
func startSample(program, plugins, odd string) (s *sample, err error) {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return nil, err
	}
	s = &sample{program: program, odd: odd, dir: dir, project: filepath.Join(dir, "project"), config: filepath.Join(dir, "bulkhead.toml")}
	s.environment = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BULKHEAD_") }), "HOME="+filepath.Join(dir, "home"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	defer func() {
		if err != nil {
			if log, _ := os.ReadFile(filepath.Join(dir, "log")); len(log) > 0 {
				err = fmt.Errorf("%w; the programs have logged:\n%s", err, log)
			}
			s.stop()
			s = nil
		}
	}()
	if err := s.write(plugins); err != nil {
		return s, err
	}
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return s, err
	}
	if err := s.converse("editor" + odd); err != nil {
		return s, err
	}
	if err := s.serveHTTP(); err != nil {
		return s, err
	}
	return s, s.open()
}

// write writes the files of the sample.
func (s *sample) write(plugins string) error {
	for path, content := range map[string]string{
		"bulkhead.toml":                          strings.NewReplacer("DIR", s.dir, "ODD", s.odd, "PLUGINS", plugins).Replace(config),
		"project/README.md":                      "# Orchard\n",
		"project/src/water.txt":                  "water the trees\n",
		"project/.chant/specs/2026-05-04-001.md": "---\nstatus: pending\n---\n\n# Water the trees\n",
		"project/.chant/config.md":               "---\nproject:\n  name: orchard\n---\n",
		"archive" + s.odd + "/2025.md":           "last year\n",
		"home/.gitconfig":                        "[user]\nname = Ann\nemail = ann@example.com\n",
	} {
		if err := s.put(path, content); err != nil {
			return err
		}
	}
	if err := s.copyPlugin(filepath.Join(plugins, "misbehave")); err != nil {
		return err
	}
	for i := range 120 {
		if err := s.put(fmt.Sprintf("notes/2026/%d/note-%03d.md", i%12+1, i), "a note\n"); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "Plant the trees"}} {
		git := exec.Command("git", append([]string{"-C", s.project}, args...)...)
		git.Env = s.environment
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git: %w: %s", err, out)
		}
	}
	made, err := s.command("token", "new", "ci-build", "--config", s.config, "--json").Output()
	if err != nil {
		return fmt.Errorf("a token: %w", err)
	}
	var token struct{ ID, Token string }
	if err := json.Unmarshal(made, &token); err != nil {
		return err
	}
	s.token = token.Token
	if err := os.Remove(filepath.Join(s.dir, "audit.jsonl")); err != nil { // the record of the token, which is later than the calls
		return err
	}
	calls := slices.Clone(uses)
	for i := range calls {
		if calls[i].principal == "TOKEN" {
			calls[i].principal = "token:" + token.ID
		}
		paths := strings.NewReplacer("DIR", s.dir, "PROJECT", s.project, "ODD", s.odd)
		calls[i].target, calls[i].grant = paths.Replace(calls[i].target), paths.Replace(calls[i].grant)
	}
	if s.odd != "" {
		calls = append(calls, used{plugin: "time" + s.odd, tool: "convert_time" + s.odd, client: "agent" + s.odd, perDay: 1, ms: 2, bytes: 90, refusedEach: 2, op: "file/write", target: "/etc/" + s.odd})
	}
	return writeLog(filepath.Join(s.dir, "audit.jsonl"), calls)
}

// copyPlugin copies a plugin, with more time for its calls.
func (s *sample) copyPlugin(from string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err != nil {
			return err
		}
		if err := s.put(filepath.Join(filepath.Base(from), f.Name()), strings.Replace(string(content), `time   = "20s"`, `time   = "1h"`, 1)); err != nil {
			return err
		}
	}
	return nil
}

func (s *sample) put(path, content string) error {
	path = filepath.Join(s.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// command returns a command of the program in the environment of the sample.
func (s *sample) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.dir, s.environment, s.log
	return cmd
}

// start starts a command that runs until the sample is stopped. An interrupt of the terminal does not reach it.
func (s *sample) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running = append(s.running, cmd)
	return nil
}

// open starts `bulkhead ui`.
func (s *sample) open() error {
	cmd := s.command("ui", "--no-open", "--config", s.config, "--project", s.project)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.start(cmd); err != nil {
		return err
	}
	link := regexp.MustCompile(`http://127\.0\.0\.1:\d+/link/\w+`)
	for lines := bufio.NewScanner(stdout); s.link == "" && lines.Scan(); {
		s.link = link.FindString(lines.Text())
	}
	if s.link == "" {
		return fmt.Errorf("%s printed no link", s.program)
	}
	q := url.QueryEscape
	s.paths = []string{
		"grants", "grants?client=team", "live", "plugins", "history?range=quarter", "history?range=day&tool=" + q("convert_time"+s.odd), "doctor", "line?line=24&file=" + q(s.config),
		"narrow?plugin=filesystem&key=deny_tools&what=read_file", "narrow?plugin=filesystem&key=read_only", "narrow?plugin=filesystem&key=fs&what=" + q(filepath.Join(s.dir, "archive"+s.odd)),
	}
	return nil
}

// stop ends the programs of the sample and removes its files.
func (s *sample) stop() {
	for _, input := range s.inputs {
		_ = input.Close()
	}
	for _, cmd := range s.running {
		_ = cmd.Process.Kill() // calls that run would delay the end
		_ = cmd.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
