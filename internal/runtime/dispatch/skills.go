package dispatch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tracecontext"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// smallSkillResponse is the size in bytes of a response that takes little memory, and so no turn, until it is written.
const smallSkillResponse = 64 << 10

// skillResource encodes the SKILL.md of a skill for the list of resources.
func skillResource(s *catalog.Skill, loaded *skills.Skill) []byte {
	return fmt.Appendf(nil, `{"uri":%s,"name":%s,"description":%s,"mimeType":"text/markdown"}`,
		rawjson.Quote(s.Instructions()), rawjson.Quote(loaded.Name), rawjson.Quote(loaded.Description))
}

// skillEntry encodes a skill for skills/list and skills/get.
func skillEntry(s *catalog.Skill, loaded *skills.Skill) []byte {
	out := fmt.Appendf(nil, `{"uri":%s,"frontmatter":%s,"resources":[`, rawjson.Quote(s.Instructions()), loaded.Frontmatter)
	for i, f := range loaded.Files {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"uri":%s,"digest":"sha256:%s","size":%d}`, rawjson.Quote(s.Root()+"/"+f.Path), f.SHA256, f.Size)
	}
	return append(out, `]}`...)
}

// skillList is a request for the list of skills.
type skillList struct {
	call.Request
	view *view
}

// Execute implements gateway.Queued.
func (l skillList) Execute(ctx context.Context, _ gateway.Notifier) (call.Result, error) {
	return l.view.whole(&l.Request, func(*tracecontext.Context) (call.Result, error) {
		part, err := l.view.skillPart(ctx, l, &l.Request, skillEntry)
		if err != nil {
			return call.Result{}, err
		}
		page, err := l.view.catalog.List(l.Method).Page([]catalog.Part{part}, l.Cursor)
		return call.Result{Body: page}, err
	})
}

// Failure implements gateway.Queued.
func (l skillList) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

// skillRequest is a request for a skill, or for a file or directory of it. It has an audit record as if the plugin had answered it, and
// waits for no other call of the plugin.
type skillRequest struct {
	call.Request
	view  *view
	skill *catalog.Skill
	path  string // in the skill
	done  func() // ends its turn; nil if it has none
}

// enqueueSkill returns the request for a skill, or for a file or directory of one; nil if it is for something else.
func (v *view) enqueueSkill(r call.Request) gateway.Queued {
	s, path := v.catalog.SkillAt(r.Name)
	if s == nil {
		return nil
	}
	return &skillRequest{Request: r, view: v, skill: s, path: path}
}

// Failure implements gateway.Queued.
func (s *skillRequest) Failure(code, message string) *gateway.Failure {
	if s.skill.Plugin == nil {
		return hostFailure(s.Name, code, message)
	}
	return (&queued{Request: s.Request, plugin: s.view.plugins[s.skill.Plugin.Index]}).Failure(code, message)
}

// Execute implements gateway.Queued.
func (s *skillRequest) Execute(ctx context.Context, _ gateway.Notifier) (call.Result, error) {
	return recordable{s, &s.Request, s.view, s.skill.Plugin}.recorded(func(func(audit.Operation)) (result call.Result, err error) {
		if s.done, err = s.view.awaitSkillRead(ctx, s, &s.Request); err != nil {
			return result, err
		}
		if !s.view.stillOffers(s.skill) {
			err = s.Failure(string(engine.CodeReplaced), replacedMessage)
		} else {
			result.Body, err = s.answer(ctx)
		}
		if len(result.Body) <= smallSkillResponse {
			s.ResponseWritten()
		}
		return result, err
	})
}

// ResponseWritten implements gateway.ResponseWritten.
func (s *skillRequest) ResponseWritten() {
	if s.done != nil {
		s.done()
		s.done = nil
	}
}

func (s *skillRequest) answer(ctx context.Context) (json.RawMessage, error) {
	unknown := gateway.Unknown(s.Method, s.Name, "")
	dir, loaded, err := s.view.openSkill(ctx, s.skill)
	if err != nil {
		return nil, err
	}
	if dir == nil {
		return nil, unknown
	}
	defer dir.Close()
	switch s.Method {
	case call.MethodSkillsGet:
		if s.path != skills.FileName {
			return nil, unknown
		}
		return fmt.Appendf(nil, `{"skill":%s}`, skillEntry(s.skill, loaded)), nil
	case call.MethodDirectoryRead:
		names := loaded.Children(s.path)
		if names == nil || strings.HasSuffix(s.Name, "/") {
			return nil, unknown
		}
		return s.view.catalog.List(s.Method).Page([]catalog.Part{s.children(loaded, names)}, s.Cursor)
	}
	f := loaded.File(s.path)
	if f == nil {
		return nil, unknown
	}
	data, err := dir.Read(*f)
	if err == nil {
		return s.content(*f, data), nil
	}
	if err = s.view.unreadable(ctx, s.skill, err); err != nil {
		return nil, err
	}
	return nil, unknown
}

// children returns the files and directories in the directory s.path.
func (s *skillRequest) children(loaded *skills.Skill, names []string) catalog.Part {
	var keys []string
	items := map[string][]byte{}
	for _, name := range names {
		bare, isDir := strings.CutSuffix(name, "/")
		uri := s.Name + "/" + bare
		switch {
		case isDir:
			items[uri] = fmt.Appendf(nil, `{"uri":%s,"name":%s,"mimeType":"inode/directory"}`, rawjson.Quote(uri), rawjson.Quote(bare))
		case uri == s.skill.Instructions():
			items[uri] = skillResource(s.skill, loaded)
		default:
			items[uri] = fmt.Appendf(nil, `{"uri":%s,"name":%s,"mimeType":%s}`, rawjson.Quote(uri), rawjson.Quote(bare), rawjson.Quote(mimeType(bare)))
		}
		keys = append(keys, uri)
	}
	return catalog.HostPart(keys, items)
}

// content returns the data of a file as the result of resources/read. Clients compare the bytes with the digest of the skill's entry, so a text is
// returned unchanged.
func (s *skillRequest) content(f skills.File, data []byte) json.RawMessage {
	head := fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":%s,`, rawjson.Quote(s.Name), rawjson.Quote(mimeType(f.Path)))
	if isText(data) {
		return append(rawjson.AppendQuote(append(head, `"text":`...), string(data)), `}]}`...)
	}
	head = append(head, `"blob":"`...)
	return append(base64.StdEncoding.AppendEncode(head, data), `"}]}`...)
}

// isText reports whether data is UTF-8 without control characters, whose encoding in JSON takes several times as much memory.
func isText(data []byte) bool {
	return utf8.Valid(data) && !slices.ContainsFunc(data, func(c byte) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f })
}

// mimeTypes are the types of files by their extensions, which must not depend on the system.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html", ".css": "text/css", ".js": "text/javascript",
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".xml": "application/xml",
	".py": "text/x-python", ".sh": "text/x-shellscript", ".go": "text/x-go", ".sql": "application/sql",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml", ".pdf": "application/pdf",
}

func mimeType(name string) string {
	if known, ok := mimeTypes[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return "application/octet-stream"
}
