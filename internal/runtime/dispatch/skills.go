package dispatch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxSkillReads bounds the files of skills that are in memory until their responses are written.
const maxSkillReads = 8

// skillCache has the skills that a generation has read, whose digests are in their manifests.
type skillCache struct {
	mu     sync.Mutex // held while a skill is read, so that only one is in memory
	pinned map[string]*skills.Skill
}

// load returns a skill. It reads the files, unless they have been read and the manifest has their digest.
func (c *skillCache) load(s *catalog.Skill) (*skills.Skill, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := s.SHA256 + s.Plugin.Manifest.Dir + "\x00" + s.Path
	if have := c.pinned[key]; have != nil {
		return have, nil
	}
	loaded, err := skills.Load(s.Plugin.Manifest.Dir, s.Path)
	switch {
	case err != nil || s.SHA256 == "":
		return loaded, err
	case loaded.Digest() != s.SHA256:
		return nil, fmt.Errorf("its files have the digest %s, and the manifest has %s", loaded.Digest(), s.SHA256)
	}
	if c.pinned == nil {
		c.pinned = map[string]*skills.Skill{}
	}
	c.pinned[key] = loaded
	return loaded, nil
}

// loadSkill returns a skill that the clients of the view get. It is nil if there is none, or if a filter withholds one of its files.
func (v *view) loadSkill(ctx context.Context, s *catalog.Skill) (loaded *skills.Skill, err error) {
	if s.Plugin == nil {
		loaded, err = v.loadProjectSkill(ctx, s.Name)
	} else if loaded, err = v.generation.skills.load(s); err != nil {
		s.Plugin.Log.Error("a skill cannot be read", "skill", s.Name, "reason", err.Error())
	}
	if err != nil || loaded == nil || v.withholds(s, loaded) {
		return nil, err
	}
	return loaded, nil
}

// withholds reports whether a filter withholds one of the files of a skill.
func (v *view) withholds(s *catalog.Skill, loaded *skills.Skill) bool {
	return slices.ContainsFunc(loaded.Files, func(f skills.File) bool { return !v.catalog.AllowsSkillFile(s, f.Path) })
}

// skillPart returns the skills as a part of a list. item encodes one. Skills that cannot be read are left out.
func (v *view) skillPart(ctx context.Context, item func(*catalog.Skill, *skills.Skill) []byte) catalog.Part {
	var keys []string
	items := map[string][]byte{}
	add := func(s *catalog.Skill, loaded *skills.Skill) {
		keys = append(keys, s.Instructions())
		items[s.Instructions()] = item(s, loaded)
	}
	for _, s := range v.catalog.Skills() {
		if loaded, err := v.loadSkill(ctx, s); err == nil && loaded != nil {
			add(s, loaded)
		}
	}
	for _, loaded := range v.listProjectSkills(ctx) {
		if s := catalog.ProjectSkill(loaded.Name); !v.withholds(s, loaded) {
			add(s, loaded)
		}
	}
	return catalog.HostPart(keys, items)
}

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
	page, err := l.view.catalog.List(l.Method).Page([]catalog.Part{l.view.skillPart(ctx, skillEntry)}, l.Cursor)
	return call.Result{Body: page}, err
}

// Failure implements gateway.Queued.
func (l skillList) Failure(code, message string) *gateway.Failure {
	return &gateway.Failure{Code: code, Message: message}
}

// skillRequest is a request for a skill, or for a file or directory of it. It has an audit record as if the plugin had answered it, and
// waits for no other call of the plugin.
type skillRequest struct {
	call.Request
	view    *view
	skill   *catalog.Skill
	path    string // in the skill
	reading bool   // whether it holds one of the reads of the dispatcher
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
	return s.ofPlugin().Failure(code, message)
}

// ofPlugin returns the request as one for the skill's plugin.
func (s *skillRequest) ofPlugin() *queued {
	return &queued{Request: s.Request, plugin: s.view.plugins[s.skill.Plugin.Index]}
}

// checkGrant returns an error if what the config grants has changed while the request waited.
func (s *skillRequest) checkGrant() error {
	if s.skill.Plugin != nil {
		q := s.ofPlugin()
		return q.failed(q.plugin.checkGrant(""))
	}
	if !s.view.stillOffersProjectSkills() {
		return s.Failure(failureReplaced, replacedMessage)
	}
	return nil
}

// Execute implements gateway.Queued.
func (s *skillRequest) Execute(ctx context.Context, _ gateway.Notifier) (call.Result, error) {
	return recordable{s, &s.Request, s.view, s.skill.Plugin}.recorded(func(func(audit.Operation)) (call.Result, error) {
		select {
		case s.view.generation.dispatcher.skillReads <- struct{}{}:
			s.reading = true
		case <-ctx.Done():
			return call.Result{}, ctx.Err()
		}
		if err := s.checkGrant(); err != nil {
			return call.Result{}, err
		}
		body, err := s.answer(ctx)
		return call.Result{Body: body}, err
	})
}

// ResponseWritten implements gateway.ResponseWritten.
func (s *skillRequest) ResponseWritten() {
	if s.reading {
		s.reading = false
		<-s.view.generation.dispatcher.skillReads
	}
}

func (s *skillRequest) answer(ctx context.Context) (json.RawMessage, error) {
	unknown := gateway.Unknown(s.Method, s.Name, "")
	loaded, err := s.view.loadSkill(ctx, s.skill)
	if err != nil {
		return nil, s.unreadable(err)
	}
	if loaded == nil {
		return nil, unknown
	}
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
	return s.content(*f)
}

// unreadable returns the error of a skill that is malformed, or whose files are not those that the manifest states.
func (s *skillRequest) unreadable(err error) *abi.Error {
	owner := "the project"
	if s.skill.Plugin != nil {
		owner = "plugin " + s.skill.Plugin.Name
	}
	return &abi.Error{Code: abi.CodeInternal, Message: fmt.Sprintf("the skill %s of %s cannot be read: %v", s.skill.Name, owner, err)}
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

// open opens the skill; nil if there is none.
func (s *skillRequest) open() (*skills.Dir, error) {
	if s.skill.Plugin == nil {
		return s.view.projectSkills().Open(s.skill.Name)
	}
	return skills.Open(s.skill.Plugin.Manifest.Dir, s.skill.Path)
}

// content returns a file as the result of resources/read. Clients compare the bytes with the digest of the skill's entry, so a text is
// returned unchanged.
func (s *skillRequest) content(f skills.File) (json.RawMessage, error) {
	dir, err := s.open()
	if err != nil {
		return nil, s.unreadable(err)
	}
	if dir == nil {
		return nil, gateway.Unknown(s.Method, s.Name, "")
	}
	defer dir.Close()
	data, err := dir.Read(f)
	if err != nil {
		return nil, s.unreadable(err)
	}
	head := fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":%s,`, rawjson.Quote(s.Name), rawjson.Quote(mimeType(f.Path)))
	if isText(data) {
		return append(rawjson.AppendQuote(append(head, `"text":`...), string(data)), `}]}`...), nil
	}
	head = append(head, `"blob":"`...)
	return append(base64.StdEncoding.AppendEncode(head, data), `"}]}`...), nil
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
