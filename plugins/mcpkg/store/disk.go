package store

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

// disk makes the changes to files, one step at a time. A test puts a function before each step.
type disk struct {
	before func(step, path string) error // nil: nothing
}

func (d disk) step(name, path string) error {
	if d.before == nil {
		return nil
	}
	return d.before(name, path)
}

func (d disk) mkdir(path string) error {
	if err := d.step("mkdir", path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o700)
}

func (d disk) rename(from, to string) error {
	if err := d.step("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (d disk) remove(path string) error {
	if err := d.step("remove", path); err != nil {
		return err
	}
	return os.Remove(path)
}

func (d disk) removeAll(path string) error {
	if err := d.step("remove all", path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// create makes a new file of the parts. One that could not be written whole stays, for sweep.
func (d disk) create(path string, parts ...[]byte) error {
	if err := d.step("create", path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := d.fill(file, parts); err != nil {
		file.Close() // the error to tell is the first
		return err
	}
	return file.Close()
}

func (d disk) fill(file *os.File, parts [][]byte) error {
	for _, part := range parts {
		if err := d.step("write", file.Name()); err != nil {
			return err
		}
		if _, err := file.Write(part); err != nil {
			return err
		}
	}
	if err := d.step("sync", file.Name()); err != nil {
		return err
	}
	return file.Sync()
}

// syncFolder makes renames in a folder last through a power cut, where the system can.
func syncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync() // many systems refuse to; the file itself is on disk by then
		folder.Close()
	}
}

// tempPrefix begins the name of whatever is not finished; it lies in the project's folder.
const tempPrefix = ".tmp-"

func (p *Project) tempPath() string {
	var salt [12]byte
	_, _ = rand.Read(salt[:]) // never fails: it ends the program instead
	return filepath.Join(p.dir, tempPrefix+hex.EncodeToString(salt[:]))
}

// put writes a file at path, whole or not at all, in place of the one that is there.
func (p *Project) put(path string, parts ...[]byte) error {
	temp := p.tempPath()
	err := p.disk.create(temp, parts...)
	if err == nil {
		err = p.disk.rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp) // else sweep does
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// sweepAge is how old a file that was left unfinished is when it is removed: no call lasts as long.
const sweepAge = time.Hour

// sweep removes what calls left that were ended in the middle. What it cannot remove does no harm.
func (p *Project) sweep(left []os.DirEntry) {
	for _, entry := range left {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > sweepAge {
			_ = p.disk.removeAll(filepath.Join(p.dir, entry.Name()))
		}
	}
}
