package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// makeArchives packs the tree of each platform.
func (r *release) makeArchives(context.Context) error {
	for _, p := range r.platforms {
		progress("packing the archive for %s", p)
		pack := writeTarGz
		if p.os == "windows" {
			pack = writeZip
		}
		if err := createFile(r.archive(p), func(w io.Writer) error { return pack(w, r.tree(p), "bulkhead", r.date) }); err != nil {
			return err
		}
	}
	return nil
}

// archive returns the path of a platform's archive.
func (r *release) archive(p platform) string {
	if p.os == "windows" {
		return filepath.Join(r.files, r.base(p)+".zip")
	}
	return filepath.Join(r.files, r.base(p)+".tar.gz")
}

// createFile creates a file with what write writes.
func createFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// writeTarGz packs the content of dir below the directory name. Owners and time stamps do not depend on the machine.
func writeTarGz(w io.Writer, dir, name string, date time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(writeTar(compressed, dir, name, date), compressed.Close())
}

// writeTar is writeTarGz without compression.
func writeTar(w io.Writer, dir, name string, date time.Time) error {
	out := tar.NewWriter(w)
	err := walk(dir, name, func(path, name string, info fs.FileInfo) error {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: info.Size(), Mode: int64(info.Mode().Perm()), ModTime: date, Format: tar.FormatUSTAR}
		if info.IsDir() {
			header.Name, header.Typeflag, header.Size = name+"/", tar.TypeDir, 0
		}
		if err := out.WriteHeader(header); err != nil || info.IsDir() {
			return err
		}
		return copyFile(out, path)
	})
	return errors.Join(err, out.Close())
}

// writeZip is writeTarGz for a zip file.
func writeZip(w io.Writer, dir, name string, date time.Time) error {
	out := zip.NewWriter(w)
	err := walk(dir, name, func(path, name string, info fs.FileInfo) error {
		if info.IsDir() {
			return nil
		}
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: date}
		header.SetMode(info.Mode().Perm())
		file, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		return copyFile(file, path)
	})
	return errors.Join(err, out.Close())
}

// walk calls visit for dir and each directory and file in it, in lexical order, with its path and its name below name.
func walk(dir, name string, visit func(path, name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			return errors.New(path + " is neither a directory nor a regular file")
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(filepath.Join(name, relative)), info)
	})
}

func copyFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// copyChangelog writes the changelog, and its section of the version, beside the archives.
func (r *release) copyChangelog(context.Context) error {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	section := changelogSection(string(text), r.version)
	if section == "" { // a snapshot: see checkVersion
		section = changelogSection(string(text), "Unreleased")
	}
	return errors.Join(os.WriteFile(filepath.Join(r.files, "CHANGELOG.md"), text, 0o644), os.WriteFile(filepath.Join(r.files, notesFile), []byte(section), 0o644))
}

// changelogSection returns the section of a changelog whose heading begins with the word version, without that heading. It returns
// "" if there is none, or if it is empty. Lines of code blocks are no headings.
func changelogSection(changelog, version string) string {
	var section strings.Builder
	inside, isCode := false, false
	for line := range strings.Lines(changelog) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
		}
		if heading, ok := strings.CutPrefix(line, "## "); ok && !isCode {
			if inside {
				break
			}
			inside = strings.HasPrefix(strings.TrimSpace(heading)+" ", version+" ")
		} else if inside {
			section.WriteString(line)
		}
	}
	if text := strings.TrimSpace(section.String()); text != "" {
		return text + "\n"
	}
	return ""
}

// makeSums writes the digests of all other files of the release.
func (r *release) makeSums(context.Context) error {
	files, err := filepath.Glob(filepath.Join(r.files, "*"))
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return strings.TrimSuffix(filepath.Base(file), signatureExtension) == sumsFile })
	slices.Sort(files)
	return writeSums(r.files, files)
}
