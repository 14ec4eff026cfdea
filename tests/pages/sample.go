package main

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// hostile is a file name that is HTML.
const hostile = `<img src=x onerror=alert(1)>"'`

// config is the config of a sample. DIR and PLUGINS are replaced.
const config = `[server]
name = "sample"

[audit]
file = "DIR/audit.jsonl"

[http]
tokens = true

[[clients]]
name = "ci"
match = { tokens = ["ci-*"] }
plugins = ["chant"]
read_only = true

[[clients]]
name = "ops"
match = { auth = "any" }
deny_tools = ["chant_spec_*"]

[[plugins]]
path = "PLUGINS/chant"
deny_tools = ["chant_log"]
fs = [
  { path = "${project}", access = "rw" },
  { path = 'DIR/HOSTILE', access = "r" },
]

[[plugins]]
path = "PLUGINS/fetch"
http = ["https://example.com"]

[[plugins]]
path = "PLUGINS/git"

[[plugins]]
path = "PLUGINS/missing"
`

// calls are lines of the audit log of a sample: hostile names, and calls of tools that exist.
func calls() string {
	var b strings.Builder
	now := time.Now().UTC()
	for i := range 200 {
		tool, client := "chant_spec_list", "editor 1.0"
		if i%7 == 0 {
			client = hostile
		}
		fmt.Fprintf(&b, "{\"time\":%q,\"kind\":\"call\",\"id\":\"c%d\",\"plugin\":\"chant\",\"client\":%q,\"principal\":\"local\",\"method\":\"tools/call\",\"tool\":%q,\"outcome\":\"ok\",\"duration_us\":%d,\"bytes_in\":40,\"bytes_out\":900}\n",
			now.Add(-time.Duration(200-i)*6*time.Hour).Format(time.RFC3339Nano), i, client, tool, 900+i*10)
		if i%9 == 0 {
			fmt.Fprintf(&b, "{\"time\":%q,\"kind\":\"refused\",\"id\":\"c%d\",\"plugin\":\"chant\",\"client\":%q,\"principal\":\"local\",\"method\":\"tools/call\",\"tool\":%q,\"outcome\":\"denied\",\"code\":\"denied\",\"operations\":[{\"op\":\"fs/write\",\"target\":%q,\"outcome\":\"denied\",\"count\":1}]}\n",
				now.Add(-time.Duration(200-i)*6*time.Hour).Format(time.RFC3339Nano), i, client, tool, "/etc/"+hostile)
		}
		if i%11 == 0 {
			fmt.Fprintf(&b, "{\"time\":%q,\"kind\":\"call\",\"id\":\"f%d\",\"plugin\":\"git\",\"client\":%q,\"principal\":\"token:ci\",\"method\":\"tools/call\",\"tool\":\"git_log\",\"outcome\":\"failed\",\"code\":\"timeout\",\"duration_us\":2000000}\n",
				now.Add(-time.Duration(200-i)*6*time.Hour).Format(time.RFC3339Nano), i, client)
		}
	}
	return b.String()
}

// sample is a running `bulkhead ui` of an installation with hostile names.
type sample struct {
	link  string
	base  string // URL of the pages, once the link was opened
	paths []string
	cmd   *exec.Cmd
	dir   string
}

func startSample(program, plugins string) (*sample, error) {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return nil, err
	}
	s := &sample{dir: dir}
	project := filepath.Join(dir, "project")
	text := strings.NewReplacer("DIR", dir, "PLUGINS", plugins, "HOSTILE", strings.ReplaceAll(hostile, "'", "")).Replace(config)
	for _, d := range []string{filepath.Join(project, ".git"), filepath.Join(dir, strings.ReplaceAll(hostile, "'", "")), filepath.Join(dir, "home")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	for name, content := range map[string]string{"bulkhead.toml": text, "audit.jsonl": calls()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	s.cmd = exec.Command(program, "ui", "--no-open", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", project)
	s.cmd.Dir, s.cmd.Stderr = dir, os.Stderr
	s.cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	link := regexp.MustCompile(`http://127\.0\.0\.1:\d+/link/\w+`)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if s.link = link.FindString(lines.Text()); s.link != "" {
			break
		}
	}
	if s.link == "" {
		s.stop()
		return nil, fmt.Errorf("%s printed no link", program)
	}
	file := "file=" + strings.ReplaceAll(filepath.Join(dir, "bulkhead.toml"), "/", "%2f")
	s.paths = []string{
		"/grants", "/grants?client=ops", "/live", "/plugins", "/history?range=quarter", "/history?range=day&tool=" + url.QueryEscape(hostile), "/doctor", "/line?line=24&" + file,
		"/narrow?plugin=chant&key=deny_tools&what=chant_spec_list", "/narrow?plugin=chant&key=read_only",
	}
	return s, nil
}

func (s *sample) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}
