// Package modinfo reads what a file tells about itself without running or validating it: the kind of the file, its sections, imports
// and exports, the tools that produced it, and the size of each package of its source. Start with [Read].
//
// A file is untrusted, and may be of any format. All lists are bounded. A malformed module yields the parts that precede the fault.
package modinfo

import (
	"bytes"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Bounds of an Info.
const (
	maxListed   = 500    // entries of each list
	maxSections = 10_000 // sections that are read
	maxPackages = 10_000 // distinct packages that are added up
	maxName     = 200    // bytes of a name
)

// Info is what a file tells about itself. All its strings are untrusted.
type Info struct {
	Kind      Kind       `json:"kind"`
	Language  Language   `json:"language,omitempty"` // empty: unknown
	Size      int        `json:"size"`               // size of the file in bytes
	Fault     string     `json:"fault,omitempty"`    // why the file is malformed; empty: no fault was found
	Producers []Producer `json:"producers,omitempty"`
	Sections  []Part     `json:"sections,omitempty"` // in the order of the file
	Imports   []Entry    `json:"imports,omitempty"`
	Exports   []Entry    `json:"exports,omitempty"`
	Functions int        `json:"functions,omitempty"` // number of functions that the module defines
	Memory    int64      `json:"memory,omitempty"`    // initial size of the memory in bytes
	Packages  []Part     `json:"packages,omitempty"`  // packages or crates by the size of their code, the largest first; nil: unknown
	LeftOut   LeftOut    `json:"left_out"`
}

// LeftOut counts the entries that the lists of an Info leave out.
type LeftOut struct {
	Sections int `json:"sections,omitempty"`
	Imports  int `json:"imports,omitempty"`
	Exports  int `json:"exports,omitempty"`
	Packages int `json:"packages,omitempty"`
}

// Producer is a tool or language from the section "producers".
type Producer struct {
	Field   string `json:"field"` // "language", "processed-by" or "sdk"
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Part is a named part of a module and its size in bytes.
type Part struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Entry is an import or an export.
type Entry struct {
	Module string `json:"module,omitempty"` // only of an import
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "function", "table", "memory", "global" or "tag"
}

// Names of sections by their ids.
var (
	moduleSections    = []string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count", "tag"}
	componentSections = []string{"custom", "core module", "core instance", "core type", "component", "instance", "alias", "type", "canon", "start", "import", "export"}
)

// Names of custom sections.
const (
	customNames     = "name"
	customProducers = "producers"
	customLinking   = "linking" // only object files have it
	customBuildID   = "go:buildid"
)

// Read reads a file.
func Read(file []byte) Info {
	m := &reader{info: Info{Size: len(file)}}
	switch format := formatOf(file); format {
	case Module:
		m.module(file)
		m.info.Kind = m.classify()
	case Component:
		m.component(file)
		m.info.Kind = Component
	default:
		m.info.Kind = format
	}
	m.info.Language = m.language()
	return m.info
}

// reader is the state of Read. Its lists are complete, in contrast to those of the Info.
type reader struct {
	info     Info
	imports  []Entry
	exports  []Entry
	imported int      // number of imported functions
	code     []uint32 // sizes of the bodies of the functions
	names    []byte   // content of the name section
	namesAt  int      // offset of names in the file
	customs  map[string]bool
}

// module reads all sections of a module.
func (m *reader) module(file []byte) {
	m.sections(file, moduleSections, func(id byte, content *wasm.Reader) {
		switch wasm.SectionID(id) {
		case wasm.SectionImport:
			m.readImports(content)
		case wasm.SectionMemory:
			m.readMemory(content)
		case wasm.SectionExport:
			m.readExports(content)
		case wasm.SectionCode:
			m.readCode(content)
		}
	})
	m.info.Imports, m.info.LeftOut.Imports = listed(m.imports)
	m.info.Exports, m.info.LeftOut.Exports = listed(m.exports)
	m.info.Functions = len(m.code)
	m.sumPackages()
}

// component reads the sections of a component. It also reads the producers of the modules in it, which tell the language.
func (m *reader) component(file []byte) {
	m.sections(file, componentSections, func(id byte, content *wasm.Reader) {
		const coreModule = 1
		if id != coreModule {
			return
		}
		nested := &reader{}
		if core := content.Bytes(uint32(content.Len())); formatOf(core) == Module {
			nested.sections(core, moduleSections, func(byte, *wasm.Reader) {})
		}
		m.addProducers(nested.info.Producers)
	})
}

// sections calls read with each section that is not a custom section, and records the sizes of all sections under their names. It
// ends at the first section that does not fit into the file.
func (m *reader) sections(file []byte, names []string, read func(id byte, content *wasm.Reader)) {
	m.customs = map[string]bool{}
	r := wasm.NewReader(file, 0)
	r.Bytes(headerSize)
	for count := 1; r.Len() > 0 && r.Err() == nil; count++ {
		if count > maxSections {
			r.Fail("more than %d sections", maxSections)
			break
		}
		from, id := r.Offset(), r.Byte()
		content := r.Bytes(r.U32())
		if r.Err() != nil {
			break
		}
		section := wasm.NewReader(content, r.Offset()-len(content))
		name := "unknown"
		if int(id) < len(names) {
			name = names[id]
		}
		if id == byte(wasm.SectionCustom) {
			custom := string(section.Name())
			m.custom(custom, section)
			name += " " + bounded(custom)
		} else {
			read(id, section)
		}
		m.addSection(name, r.Offset()-from)
		m.fault(section.Err())
	}
	m.fault(r.Err())
}

// addSection records a section. Sections of the same name are added up.
func (m *reader) addSection(name string, size int) {
	for i := range m.info.Sections {
		if m.info.Sections[i].Name == name {
			m.info.Sections[i].Size += size
			return
		}
	}
	if len(m.info.Sections) == maxListed {
		m.info.LeftOut.Sections++
		return
	}
	m.info.Sections = append(m.info.Sections, Part{name, size})
}

// fault records the first fault.
func (m *reader) fault(err error) {
	if err != nil && m.info.Fault == "" {
		m.info.Fault = bounded(err.Error())
	}
}

// custom reads a custom section that has the given name. A malformed custom section is not a fault of the module.
func (m *reader) custom(name string, content *wasm.Reader) {
	switch name {
	case customNames:
		m.namesAt = content.Offset()
		m.names = content.Bytes(uint32(content.Len()))
	case customProducers:
		m.addProducers(producers(wasm.NewReader(content.Bytes(uint32(content.Len())), content.Offset())))
	case customLinking, customBuildID:
	default:
		return
	}
	m.customs[name] = true
}

func (m *reader) addProducers(all []Producer) {
	for _, p := range all {
		if len(m.info.Producers) < maxListed {
			m.info.Producers = append(m.info.Producers, p)
		}
	}
}

func producers(r *wasm.Reader) []Producer {
	var out []Producer
	for range r.Count("fields", maxListed) {
		field := string(r.Name())
		for range r.Count("producers", maxListed) {
			p := Producer{bounded(field), bounded(string(r.Name())), bounded(string(r.Name()))}
			if r.Err() != nil || len(out) == maxListed {
				return out
			}
			out = append(out, p)
		}
	}
	return out
}

// listed returns the first entries of a list with bounded names, and the number of entries that it leaves out.
func listed(all []Entry) ([]Entry, int) {
	some := all[:min(len(all), maxListed)]
	for i := range some {
		some[i].Module, some[i].Name = bounded(some[i].Module), bounded(some[i].Name)
	}
	return some, len(all) - len(some)
}

func bounded(name string) string {
	if len(name) > maxName {
		return string(bytes.ToValidUTF8([]byte(name[:maxName]), nil)) + "…"
	}
	return name
}
