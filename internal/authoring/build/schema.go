package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/agreement"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// ToolSchema has the schemas that a module derives from the types of a tool's handler.
type ToolSchema struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input,omitempty"`  // absent: the handler decodes the arguments itself
	Output json.RawMessage `json:"output,omitempty"` // absent: the handler returns a ToolResult
	// Changed is set if WriteSchemas has changed a schema of the tool in the manifest.
	Changed bool `json:"changed,omitempty"`
}

// TOML returns the schemas as tables of the manifest. They belong below the [[tools]] table of the tool.
func (t ToolSchema) TOML() (string, error) {
	text := ""
	for _, s := range []struct {
		key string
		raw json.RawMessage
	}{{"input", t.Input}, {"output", t.Output}} {
		if s.raw == nil {
			continue
		}
		schema, err := parseSchema(s.raw)
		if err != nil {
			return "", err
		}
		tables, err := schema.tables([]string{"tools", s.key})
		if err != nil {
			return "", err
		}
		if text != "" {
			text += "\n"
		}
		text += tables
	}
	return text, nil
}

// Schemas builds the module of the plugin in dir, and returns the schemas that it derives from the types of its handlers. If tool is not
// empty, it returns those of this tool only. The error is tomlfile.Problems if the plugin is invalid.
func Schemas(ctx context.Context, dir, tool string, o Options) ([]ToolSchema, error) {
	_, schemas, err := schemasOf(ctx, dir, tool, o)
	return schemas, err
}

func schemasOf(ctx context.Context, dir, tool string, o Options) (_ *source, _ []ToolSchema, err error) {
	s, ps := load(dir)
	if s == nil || ps.Err() != nil {
		return nil, nil, ps.Err()
	}
	temp, err := tempdir.New("schema")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	o.Out = filepath.Join(temp.Path, "out") // a build locks its output directory
	b, err := newBuilder(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer b.close()
	has, err := b.describeBuilt(ctx, s, o)
	if err != nil {
		return nil, nil, err
	}
	var schemas []ToolSchema
	for _, t := range s.m.Tools {
		types := has.Schemas[t.Name]
		if tool != "" && t.Name != tool {
			continue
		}
		if types.Error != "" {
			return nil, nil, s.compareSchemas(map[string]abi.ToolSchemas{t.Name: {Error: types.Error}}).Err()
		}
		one := ToolSchema{Name: t.Name}
		if one.Input, err = plainSchema(types.Input); err == nil {
			one.Output, err = plainSchema(types.Output)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: the schema that the module derives %w", t.Name, err)
		}
		if one.Input != nil || one.Output != nil {
			schemas = append(schemas, one)
		}
	}
	if _, ok := s.m.Tool(tool); tool != "" && !ok {
		return nil, nil, tomlfile.Problems{{File: s.file, Key: "tools", What: "there is no tool " + tomlfile.Quote(tool), Remedy: "write its [[tools]] table"}}
	}
	return s, schemas, nil
}

// describeBuilt makes the module in a staging directory, and asks it for its handlers.
func (b *builder) describeBuilt(ctx context.Context, s *source, o Options) (abi.SchemaDescription, error) {
	task := o.Progress.Add(taskName(s.dir, s))
	has, err := func() (has abi.SchemaDescription, err error) {
		st, err := newStage(b.out, s.m.Name, b.log)
		if err != nil {
			return has, err
		}
		defer st.close()
		module, err := b.makeModule(ctx, s, st, task)
		if err != nil {
			return has, err
		}
		defer module.Close()
		sum, _, err := st.addModule(s, module)
		if err != nil {
			return has, err
		}
		has, ps := b.describeSource(ctx, s, filepath.Join(st.plugin, s.m.Module.File), sum)
		return has, ps.Err()
	}()
	if err != nil {
		task.Fail("")
		return has, err
	}
	task.Done("derived the schemas of %d tools", len(has.Schemas))
	return has, nil
}

// WriteSchemas is like Schemas, and also writes the schemas into the manifest. A schema that agrees with the types is not changed. In any other
// schema, the properties that disagree are replaced, but keep their titles, descriptions and narrower bounds, and properties without a
// field are removed. The rest of the file, with its comments, is preserved. Nothing is written if a schema cannot be edited in this way.
func WriteSchemas(ctx context.Context, dir, tool string, o Options) ([]ToolSchema, error) {
	if err := userfile.CheckOutput(dir, filepath.Join(dir, manifest.FileName)); err != nil {
		return nil, err
	}
	file, err := userfile.Read(filepath.Join(dir, manifest.FileName), tomlfile.ReadFile)
	if err != nil {
		return nil, err
	}
	s, schemas, err := schemasOf(ctx, dir, tool, o)
	if err != nil {
		return nil, err
	}
	doc := s.doc
	var ps tomlfile.Problems
	for i, t := range schemas {
		index := slices.IndexFunc(s.m.Tools, func(m manifest.Tool) bool { return m.Name == t.Name })
		table := s.doc.Root().Tables("tools")[index]
		m := s.m.Tools[index]
		for _, one := range []struct {
			key           string
			have, derived json.RawMessage
			compare       comparer
		}{{"input", m.Input, t.Input, agreement.Input}, {"output", m.Output, t.Output, agreement.Output}} {
			if one.derived == nil {
				continue
			}
			edited, err := editSchema(doc, table, index, one.key, one.have, one.derived, one.compare)
			if err != nil {
				p := schemaProblem(table, one.key, nil)
				p.File, p.What = s.file, "cannot be written: "+err.Error()
				p.Remedy = fmt.Sprintf("edit it by hand: see `bulkhead plugin schema %s --tool %s`", s.dir, t.Name)
				ps = append(ps, p)
				continue
			}
			schemas[i].Changed = schemas[i].Changed || string(edited.Bytes()) != string(doc.Bytes())
			doc = edited
		}
	}
	if err := ps.Err(); err != nil {
		return nil, err
	}
	data := doc.Bytes()
	if string(data) == string(s.data) {
		return schemas, nil
	}
	if string(file.Data) != string(s.data) {
		return nil, tomlfile.Problems{{File: s.file, What: "changed while the module was being built", Remedy: "run the command again"}}
	}
	if err := file.Replace(data, 0o644); err != nil {
		return nil, err
	}
	return schemas, nil
}
