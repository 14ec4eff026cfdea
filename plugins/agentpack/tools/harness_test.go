package tools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// world is a home directory, a project, and a host with a clock. Its methods take paths below the directory Base, such
// as "home/x" or "project/x".
type world struct {
	t       testing.TB
	Base    string
	Home    string
	Project string
	Repo    string // the directory home/.agentpack/repo
	Codex   string // the directory home/.codex
	Host    *sdktest.Host
	Now     time.Time
	Top     string   // the result of the host operation git/top_level; "" for no repository
	Origin  string   // the result of the host operation git/remote_url
	Ignored []string // the absolute paths that git ignores
}

// answer is the decoded envelope of a call.
type answer struct {
	SchemaVersion int             `json:"schema_version"`
	OK            bool            `json:"ok"`
	Command       string          `json:"command"`
	CommandID     string          `json:"command_id"`
	CommandPath   []string        `json:"command_path"`
	Version       string          `json:"version"`
	Data          json.RawMessage `json:"data"`
	Warnings      []string        `json:"warnings"`
	Errors        []struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"errors"`
}

// standard returns a manifest with the target codex in user scope and the given modules.
func standard(modules ...string) string {
	return config("codex: {mode: files, scope: user, options: {write_user_skills: false}}", modules...)
}

// config returns a manifest with the given targets and modules. The default profile includes all modules.
func config(targets string, modules ...string) string {
	text := "version: 1\nprofiles: {default: {include_tags: [base]}}\ntargets:\n"
	for line := range strings.Lines(targets) {
		text += "  " + line
	}
	text += "\nmodules:\n"
	for _, module := range modules {
		kind, _, _ := strings.Cut(module, ":")
		text += "  - {id: '" + module + "', type: " + kind + ", tags: [base], source: {local_path: {path: modules/" + strings.ReplaceAll(module, ":", "/") + "}}}\n"
	}
	return text
}

// newWorld creates a world with the given files, and starts a host whose working directory is the project.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, Base: base, Home: filepath.Join(base, "home"), Project: filepath.Join(base, "project"),
		Now: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC),
	}
	w.Repo, w.Codex = filepath.Join(w.Home, ".agentpack", "repo"), filepath.Join(w.Home, ".codex")
	for _, dir := range []string{w.Home, w.Project, filepath.Join(base, "state")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range files {
		w.Write(path, content)
	}
	manifestFile, err := filepath.Abs(filepath.Join("..", "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.Project)
	for _, name := range []string{"AGENTPACK_HOME", "CODEX_HOME", "AGENTPACK_FSYNC", "HOSTNAME", "COMPUTERNAME", "USERPROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", w.Home)
	t.Setenv("AGENTPACK_MACHINE_ID", "test-machine")
	t.Setenv("BULKHEAD_STATE", filepath.Join(base, "state"))
	plugin := sdk.New()
	tools.Register(plugin, func() time.Time { w.Now = w.Now.Add(time.Second); return w.Now })
	w.Host = sdktest.New(t, plugin, manifestFile)
	w.operate()
	return w
}

// operate registers handlers for the host operations that the plugin uses.
func (w *world) operate() {
	w.Host.Handle(abi.OpGitTopLevel, func(raw json.RawMessage) (any, error) {
		var q abi.GitPath
		if json.Unmarshal(raw, &q) == nil && q.Path == w.Repo && w.Read("home/.agentpack/repo/.git/HEAD") != "(none)" {
			return abi.GitTopLevel{TopLevel: w.Repo}, nil
		}
		if err := json.Unmarshal(raw, &q); err != nil || w.Top == "" || q.Path != w.Top && !strings.HasPrefix(q.Path, w.Top+"/") {
			return abi.GitTopLevel{}, err
		}
		return abi.GitTopLevel{TopLevel: w.Top}, nil
	})
	w.Host.Handle(abi.OpGitRemoteURL, func(json.RawMessage) (any, error) { return abi.GitURL{URL: w.Origin}, nil })
	w.Host.Handle(abi.OpGitIgnored, func(raw json.RawMessage) (any, error) {
		var q abi.GitPaths
		var found abi.GitIgnored
		err := json.Unmarshal(raw, &q)
		for _, path := range q.Paths {
			found.Ignored = append(found.Ignored, slices.Contains(w.Ignored, path))
		}
		return found, err
	})
	w.Host.Handle(abi.OpFSMode, func(raw json.RawMessage) (any, error) {
		var q abi.FileMode
		if err := json.Unmarshal(raw, &q); err != nil {
			return nil, err
		}
		if q.Mode != nil {
			if err := os.Chmod(q.Path, os.FileMode(*q.Mode)); err != nil {
				return nil, err
			}
		}
		info, err := os.Stat(q.Path)
		if err != nil {
			return nil, err
		}
		return abi.FileModeResult{Mode: uint32(info.Mode().Perm())}, nil
	})
	// The test cannot set the modes of the files that the tools create, so they have to.
	w.Host.Handle(abi.OpFSCreateMode, func(json.RawMessage) (any, error) {
		return nil, &abi.HostError{Code: abi.HostUnavailable}
	})
}

// path returns the absolute path for a path below Base.
func (w *world) path(path string) string { return filepath.Join(w.Base, filepath.FromSlash(path)) }

// Write writes a file below Base.
func (w *world) Write(path, content string) {
	w.t.Helper()
	at := w.path(path)
	testenv.WriteFile(w.t, at, content)
}

// Remove removes a file or directory below Base.
func (w *world) Remove(path string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(path)); err != nil {
		w.t.Fatal(err)
	}
}

// Read returns the content of a file; "(none)" if the file does not exist.
func (w *world) Read(path string) string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(path))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// Files returns the content of all files below Base, except those of git and of the test itself. The keys are paths.
func (w *world) Files() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(w.Base, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(w.Base, path)
		if err == nil && !strings.HasPrefix(relative, "state") {
			files[filepath.ToSlash(relative)] = w.Read(filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// Unchanged fails the test if the result of Files differs from before.
func (w *world) Unchanged(before map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(before, w.Files()); diff != "" {
		w.t.Errorf("files have changed (-before +after)\n%s", diff)
	}
}

// Call calls a tool and returns the decoded envelope. It fails the test unless the result is a valid envelope.
func (w *world) Call(tool, arguments string) answer {
	w.t.Helper()
	result, err := w.Host.CallTool(tool, arguments)
	if err != nil {
		w.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if len(result.Texts) != 1 {
		w.t.Fatalf("%s %s: %d texts", tool, arguments, len(result.Texts))
	}
	var text, structured any
	if err := errors.Join(json.Unmarshal([]byte(result.Texts[0]), &text), json.Unmarshal(result.Structured, &structured)); err != nil {
		w.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if diff := cmp.Diff(structured, text); diff != "" {
		w.t.Errorf("the text is not the structured content: %s", diff)
	}
	var got answer
	strict := json.NewDecoder(bytes.NewReader(result.Structured))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&got); err != nil {
		w.t.Fatalf("%s %s: %v in %s", tool, arguments, err, result.Structured)
	}
	if got.SchemaVersion != 1 || got.Version != "0.9.1" || result.IsError == got.OK || got.OK != (len(got.Errors) == 0) ||
		got.Warnings == nil || got.Errors == nil || got.Command == "" || len(got.CommandPath) == 0 || strings.Join(got.CommandPath, " ") != got.CommandID {
		w.t.Errorf("%s %s: the result is not an envelope: %s", tool, arguments, result.Structured)
	}
	if !got.OK && (string(got.Data) != "{}" || len(got.Warnings) > 0 || len(got.Errors) != 1) {
		w.t.Errorf("%s %s: the envelope of a failed call has more than the error: %s", tool, arguments, result.Structured)
	}
	return got
}

// OK calls a tool, which must succeed, and decodes the payload into data.
func (w *world) OK(tool, arguments string, data any) answer {
	w.t.Helper()
	got := w.Call(tool, arguments)
	if !got.OK {
		w.t.Fatalf("%s %s: %s %s", tool, arguments, got.Errors[0].Code, got.Errors[0].Message)
	}
	if data != nil {
		if err := json.Unmarshal(got.Data, data); err != nil {
			w.t.Fatal(err)
		}
	}
	return got
}

// Fails calls a tool, which must fail with the given code, and returns the details of the error.
func (w *world) Fails(tool, arguments, code string) map[string]any {
	w.t.Helper()
	got := w.Call(tool, arguments)
	if got.OK {
		w.t.Fatalf("%s %s: the call succeeded, want %s: %s", tool, arguments, code, got.Data)
	}
	if got.Errors[0].Code != code {
		w.t.Fatalf("%s %s: got %s %s, want %s", tool, arguments, got.Errors[0].Code, got.Errors[0].Message, code)
	}
	details := got.Errors[0].Details
	if code != "E_UNEXPECTED" && (details["reason_code"] == nil || details["next_actions"] == nil) {
		w.t.Errorf("%s has no reason_code or no next_actions: %v", code, details)
	}
	return details
}

// planData is the payload of the tools plan, diff, deploy and deploy_apply.
type planData struct {
	Applied    *bool
	Reason     string
	SnapshotID string `json:"snapshot_id"`
	Profile    string
	Targets    []string
	Changes    []changeData
	Summary    struct{ Create, Update, Delete int }
	Token      string `json:"confirm_token"`
	PlanHash   string `json:"confirm_plan_hash"`
	ExpiresAt  string `json:"confirm_token_expires_at"`
}

type changeData struct {
	Target     string
	Op         string
	Path       string
	UpdateKind string  `json:"update_kind"`
	Before     *string `json:"before_sha256"`
	After      *string `json:"after_sha256"`
	Reason     string
}

// Plan calls the tool plan, and returns each change as "op path [update_kind]" with a path below Base.
func (w *world) Plan(arguments string) []string {
	w.t.Helper()
	var data planData
	w.OK("plan", arguments, &data)
	return w.short(data)
}

func (w *world) short(data planData) []string {
	w.t.Helper()
	all := []string{}
	for _, change := range data.Changes {
		relative, err := filepath.Rel(w.Base, change.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(change.Op+" "+relative+" "+change.UpdateKind))
	}
	return all
}

// Wants fails the test unless the method Plan returns want.
func (w *world) Wants(arguments string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), w.Plan(arguments)); diff != "" {
		w.t.Errorf("plan %s (-want +got)\n%s", arguments, diff)
	}
}

// with adds members to the arguments of a call.
func (w *world) with(arguments string, more map[string]any) string {
	w.t.Helper()
	all := map[string]any{}
	if arguments != "" {
		if err := json.Unmarshal([]byte(arguments), &all); err != nil {
			w.t.Fatal(err)
		}
	}
	maps.Copy(all, more)
	text, err := json.Marshal(all)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// Token calls the tool deploy and returns the confirm token.
func (w *world) Token(arguments string) string {
	w.t.Helper()
	var data planData
	w.OK("deploy", arguments, &data)
	return data.Token
}

// Deploy calls the tools deploy and deploy_apply, with the argument adopt if the plan requires it, and returns the
// payload of deploy_apply.
func (w *world) Deploy(arguments string) planData {
	w.t.Helper()
	var data planData
	w.OK("deploy_apply", w.with(arguments, map[string]any{"yes": true, "adopt": true, "confirm_token": w.Token(arguments)}), &data)
	return data
}
