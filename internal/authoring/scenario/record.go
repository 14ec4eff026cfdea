package scenario

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Recording describes the scenario file that Record returns.
type Recording struct {
	File     string // path of the scenario file
	Name     string // name of the scenario
	Files    string // directory with the files of the project; empty: the project has no files
	Requests []Request
	Answers  map[string]json.RawMessage // the client's answers by the ID of the question; nil: the client cannot be asked
}

// Request is a request to record.
type Request struct {
	Kind      string // tool, prompt or resource
	Name      string
	Arguments json.RawMessage // nil: none
}

// Recorded is the result of Record.
type Recorded struct {
	Content []byte   // of the scenario file: the requests with their results, and the files that they changed
	Files   []string // files of Recording.Files whose content is in the scenario file
	LeftOut []string // those that are not, with the reason
}

// Record makes the requests.
func Record(ctx context.Context, p Plugin, rec Recording) (*Recorded, error) {
	recorded := &Recorded{}
	head, requests, err := rec.requests(ctx, recorded)
	if err != nil {
		return nil, err
	}
	f, ps := Parse(rec.File, []byte(head+strings.Join(requests, "")))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	s := f.Scenarios[0]
	r, err := s.open(p)
	if err != nil {
		return nil, err
	}
	defer r.dir.Close()
	out, err := r.record(ctx, head, requests)
	if err != nil {
		return nil, err
	}
	if _, ps := Parse(rec.File, []byte(out)); ps.Err() != nil {
		return nil, fmt.Errorf("the recorded scenario is invalid: %w", ps.Err())
	}
	recorded.Content = []byte(out)
	return recorded, nil
}

// requests returns the text of the file up to the first request, and the lines of each request without expectations.
func (rec Recording) requests(ctx context.Context, recorded *Recorded) (head string, requests []string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, "[[scenario]]\nname = %s\nunchanged = true # but for the files in [scenario.after]\n", tomlfile.Text(rec.Name))
	if rec.Files != "" {
		from, err := filepath.Rel(filepath.Dir(rec.File), rec.Files)
		if err == nil && filepath.IsLocal(from) {
			fmt.Fprintf(&b, "from = %s\n", tomlfile.Text(filepath.ToSlash(from)))
		} else if recorded.Files, recorded.LeftOut, err = recordFiles(ctx, &b, rec.Files); err != nil {
			return "", nil, err
		}
	}
	for _, request := range rec.Requests {
		lines := fmt.Sprintf("\n[[scenario.step]]\n%s = %s\n", request.Kind, tomlfile.Text(request.Name))
		if request.Arguments != nil {
			v, err := jsonvalue.Decode(request.Arguments)
			if err != nil {
				return "", nil, err
			}
			lines += assignment("arguments", v)
		}
		if rec.Answers != nil {
			answers := map[string]any{}
			for id, text := range rec.Answers {
				if answers[id], err = jsonvalue.Decode(text); err != nil {
					return "", nil, err
				}
			}
			if !isTOML(answers) {
				return "", nil, tomlfile.Problems{{File: rec.File, What: "an answer has a value that TOML cannot represent, such as null or a number with a fraction", Remedy: "leave the value out, or edit the scenario by hand"}}
			}
			lines += "answers = " + inline(answers) + "\n"
		}
		requests = append(requests, lines)
	}
	return b.String(), requests, nil
}

// escapePlaceholders escapes each "${" of a string, so that it is not a placeholder.
func escapePlaceholders(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// contentValue returns the TOML value for the content of a file.
func contentValue(data []byte, insert func(string) string) string {
	if utf8.Valid(data) && !slices.Contains(data, 0) {
		return block(insert(string(data)))
	}
	return "{ base64 = " + tomlfile.Text(base64.StdEncoding.EncodeToString(data)) + " }"
}

// record makes the requests and returns the text of the file.
func (r *run) record(ctx context.Context, head string, requests []string) (_ string, err error) {
	defer func() {
		if r.session != nil {
			err = errors.Join(err, r.session.Close(ctx))
		}
	}()
	before, err := takeSnapshot(r.places)
	if err != nil {
		return "", err
	}
	b := strings.Builder{}
	b.WriteString(head)
	for i, s := range r.scenario.steps {
		got, err := r.do(ctx, s)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
		if len(got.unanswered) > 0 {
			id := got.unanswered[0]
			return "", tomlfile.Problems{{File: s.name, What: fmt.Sprintf("asks %s, and there is no answer: %s", tomlfile.Quote(id), jsonvalue.Show(got.asked[id])), Remedy: "pass --answer " + id + "=JSON"}}
		}
		request := requests[i]
		if s.answers != nil {
			// A scenario fails if it has an answer to a question that is not asked, so only the others are recorded.
			all, answered := "answers = "+inline(s.answers)+"\n", map[string]any{}
			for id := range got.asked {
				answered[id] = s.answers[id]
			}
			request = strings.Replace(request, all, "answers = "+inline(answered)+"\n", 1)
		}
		b.WriteString(request + r.recordResponse(s, got))
	}
	session := r.session
	r.session = nil
	if err := session.Close(ctx); err != nil {
		return "", err
	}
	after, err := takeSnapshot(r.places)
	if err != nil {
		return "", err
	}
	err = r.recordChanges(&b, before, after)
	return b.String(), err
}

// recordResponse returns the expectations of a step.
func (r *run) recordResponse(s *step, got response) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%s = %s\n", key, value) }
	object, _ := got.result.(map[string]any)
	switch {
	case got.Failure != "":
		line("failure", tomlfile.Text(got.Failure))
	case got.Error != nil:
		line("error", fmt.Sprintf("{ code = %d, message = %s }", got.Error.Code, tomlfile.Text(r.places.insert(got.Error.Message))))
	default:
		if got.IsError {
			line("is_error", "true")
		}
		if got.onlyText {
			line("text", block(r.places.insert(got.text)))
		} else {
			b.WriteString(assignment("result", r.places.insertAll(got.result)))
		}
		if structured := object["structuredContent"]; structured != nil && got.onlyText {
			b.WriteString(assignment("structured", r.places.insertAll(structured)))
		}
	}
	if len(got.recorded.Denied) > 0 {
		denied := make([]any, len(got.recorded.Denied))
		for i, operation := range got.recorded.Denied {
			denied[i] = r.places.insert(operation)
		}
		line("denied", inline(denied))
	}
	return b.String()
}

// recordChanges writes the table [scenario.after] with the files that changed.
func (r *run) recordChanges(b *strings.Builder, before, after snapshot) error {
	all := changed(before, after)
	if len(all) > 0 {
		b.WriteString("\n[scenario.after]\n")
	}
	for _, p := range all {
		value := "{ absent = true }"
		if after[p] != "" {
			data, err := r.places.read(p)
			if err == nil && len(data) > maxRecorded {
				err = fmt.Errorf("it has more than %d KiB", maxRecorded>>10)
			}
			if err != nil {
				return tomlfile.Problems{{File: p.String(), What: "has changed and cannot be recorded: " + err.Error(), Remedy: "write what is expected of it by hand, with contains or matches"}}
			}
			value = contentValue(data, r.places.insert)
		}
		fmt.Fprintf(b, "%s = %s\n", tomlfile.Key(p.String()), value)
	}
	return nil
}

// assignment returns the line that sets a key to an object: as an inline table, or as a string in JSON if the table would be long or TOML
// cannot represent the object.
func assignment(key string, v any) string {
	if isTOML(v) {
		if text := inline(v); len(text) <= 200 {
			return key + " = " + text + "\n"
		}
	}
	text, _ := rawjson.MarshalIndent(v, "  ") // decoded JSON can be encoded
	if !strings.Contains(string(text), "'''") {
		return key + "_json = '''\n" + string(text) + "'''\n"
	}
	return key + "_json = " + tomlfile.Text(string(text)) + "\n"
}

// isTOML reports whether TOML can represent a decoded JSON value exactly.
func isTOML(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case json.Number:
		_, err := v.Int64()
		return err == nil && v != "-0"
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isTOML(item) })
	case map[string]any:
		for member := range maps.Values(v) {
			if !isTOML(member) {
				return false
			}
		}
	}
	return true
}

// block returns a string in TOML: a multi-line string if it has several lines, and a literal string if that avoids escapes.
func block(text string) string {
	isBlock := strings.Contains(strings.TrimRight(text, "\n"), "\n")
	quotes := strings.ContainsAny(text, `"\`)
	switch {
	case isBlock && quotes && !strings.Contains(text, "'''") && !strings.HasSuffix(text, "'") && isLiteral(text):
		return "'''\n" + text + "'''"
	case !isBlock && quotes && !strings.ContainsAny(text, "'\n") && isLiteral(text):
		return "'" + text + "'"
	case !isBlock:
		return tomlfile.Text(text)
	}
	var b strings.Builder
	b.WriteString("\"\"\"\n")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		quoted := tomlfile.Text(line)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String() + `"""`
}

// unescaper replaces the escapes of those characters that a literal string of TOML can contain.
var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\t`, "\t", `\n`, "\n")

// isLiteral reports whether all characters of a text are visible, so that a literal string can contain it.
func isLiteral(text string) bool {
	quoted := tomlfile.Text(text)
	return unescaper.Replace(quoted[1:len(quoted)-1]) == text
}

// Write writes a recorded scenario file, in the directory Dir of a plugin. It replaces an existing one only if force is set.
func (rec Recording) Write(data []byte, force bool) error {
	if err := userfile.CheckOutput(filepath.Dir(filepath.Dir(rec.File)), rec.File); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(rec.File), 0o777); err != nil {
		return err
	}
	if !force {
		f, err := os.OpenFile(rec.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	return atomicfile.Replace(rec.File, data, atomicfile.Options{})
}
