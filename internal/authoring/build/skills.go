package build

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// checkSkills returns the problems of the skills, and compares them with the digests in the manifest.
func (s *source) checkSkills() (ps tomlfile.Problems) {
	files := 0
	for i, declared := range s.m.Skills {
		report := func(what, remedy string) {
			ps = append(ps, tomlfile.Problem{File: s.file, Line: declared.Line, Key: fmt.Sprintf("skills[%d].path", i), What: what, Remedy: remedy})
		}
		loaded, err := skills.Load(s.m.Dir, declared.Path)
		switch {
		case err != nil:
			report(fmt.Sprintf("the skill %s cannot be read: %v", declared.Path, err), "")
			continue
		case declared.SHA256 != "" && declared.SHA256 != loaded.Digest():
			report(fmt.Sprintf("the files of the skill %s have the digest %s, and sha256 is %s", declared.Path, loaded.Digest(), declared.SHA256),
				"remove sha256 from the source, and build the plugin with `bulkhead plugin build`, which fills it in")
		}
		for _, f := range loaded.Files {
			if err := archive.CheckName(declared.Path + "/" + f.Path); err != nil {
				report(fmt.Sprintf("the skill has a file that the plugin's archive cannot contain: %v", err), "rename it")
			}
		}
		files += len(loaded.Files)
	}
	if files > maxSkillFiles {
		ps = append(ps, tomlfile.Problem{File: s.file, Line: s.m.Skills[0].Line, Key: "skills", What: fmt.Sprintf("the skills have %d files, and an archive has room for %d", files, maxSkillFiles),
			Remedy: "combine some of the files"})
	}
	return ps
}

// maxSkillFiles leaves room in an archive for the manifest, the module, texts, and what publishing adds.
const maxSkillFiles = archive.MaxFiles - 16

// SkillFiles calls add with each file of a plugin's skills, by its path in the plugin's directory. The digest of each skill is returned in
// the order of the manifest.
func SkillFiles(m *manifest.Manifest, add func(path string, content []byte) error) (digests []string, err error) {
	for _, declared := range m.Skills {
		digest, err := skillFiles(m, declared, add)
		if err != nil {
			return nil, fmt.Errorf("the skill %s: %w", declared.Path, err)
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

func skillFiles(m *manifest.Manifest, declared manifest.Skill, add func(path string, content []byte) error) (digest string, err error) {
	dir, err := skills.Open(m.Dir, declared.Path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	loaded, err := dir.Load(context.Background())
	if err != nil {
		return "", err
	}
	for _, f := range loaded.Files {
		content, err := dir.Read(f)
		if err == nil {
			err = add(declared.Path+"/"+f.Path, content)
		}
		if err != nil {
			return "", err
		}
	}
	return loaded.Digest(), nil
}

// addSkills copies the skills, and returns the manifest with their digests.
func (st *stage) addSkills(s *source, doc *tomlfile.Doc) (*tomlfile.Doc, error) {
	digests, err := SkillFiles(s.m, func(path string, content []byte) error {
		_, err := st.add(path, bytes.NewReader(content))
		return err
	})
	if err != nil {
		return nil, err
	}
	return setDigests(doc, digests)
}

// setDigests returns a manifest with the digests of its skills.
func setDigests(doc *tomlfile.Doc, digests []string) (*tomlfile.Doc, error) {
	for i, digest := range digests {
		var err error
		if doc, err = doc.SetTableString("skills", i, "sha256", digest); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
