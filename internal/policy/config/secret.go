package config

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Bounds of a command.
const (
	maxArguments = 64
	maxArgument  = 4096 // bytes
)

const (
	commandRemedy = `write the program and its arguments: command = ["pass", "show", "NAME"]; no shell expands them`
	secretRemedy  = `write { file = "/…" } or { command = ["pass", "show", "NAME"] }`
)

// String describes where the value comes from.
func (s Secret) String() string {
	if s.Command != nil {
		return fmt.Sprintf("output of the command %q", s.Command)
	}
	return "content of " + s.File
}

// readSecrets reads the items of [plugins.env] that are tables.
func readSecrets(t *tomlfile.Table) map[string]Secret {
	var secrets map[string]Secret
	for _, name := range t.Keys() {
		if !t.IsTable(name) {
			continue
		}
		in := t.Table(name)
		s := Secret{File: in.String("file"), Command: readCommand(in)}
		switch {
		case in.Has("file") && in.Has("command"):
			in.Fault("command", "conflicts with file", "keep one of the two")
		case !in.Has("file") && !in.Has("command"):
			t.Fault(name, "has neither file nor command", secretRemedy)
		case in.Has("file"):
			s.File = readSecretFile(in, s.File)
		}
		if secrets == nil {
			secrets = map[string]Secret{}
		}
		secrets[name] = s
	}
	return secrets
}

// readSecretFile validates and cleans the path of a file. References in it are expanded later.
func readSecretFile(t *tomlfile.Table, file string) string {
	err := checkFile(file)
	if hasReference(file) {
		err = checkPathReferences(file)
	}
	switch {
	case err != nil: // the message omits the value, since a user may have pasted a secret instead of a path
		t.Fault("file", err.Error(), absoluteRemedy)
	case !hasReference(file):
		return filepath.Clean(file)
	}
	return file
}

// secretFile returns the key of the file of a variable's value in the plugin's table.
func secretFile(name string) string { return "env." + name + ".file" }

// readCommand reads the array command: a program, by its absolute path or the name by which PATH has it, and arguments.
func readCommand(t *tomlfile.Table) []string {
	command := t.Strings("command")
	if !t.Has("command") {
		return nil
	}
	if len(command) == 0 || len(command) > maxArguments {
		t.Fault("command", fmt.Sprintf("has %d items, and must have 1 to %d", len(command), maxArguments), commandRemedy)
		return []string{""}
	}
	for i, argument := range command {
		err := checkArgument(argument)
		if i == 0 && err == nil {
			err = checkProgram(argument)
		}
		if err != nil { // the message omits the value: see readSecretFile
			t.FaultItem("command", i, err.Error(), commandRemedy)
		}
	}
	return command
}

func checkArgument(argument string) error {
	switch {
	case len(argument) > maxArgument:
		return fmt.Errorf("has more than %d bytes", maxArgument)
	case strings.ContainsRune(argument, 0):
		return errors.New("contains a NUL byte")
	}
	return nil
}

func checkProgram(program string) error {
	switch {
	case program == "":
		return errors.New("is empty")
	case strings.ContainsAny(program, `/\`) && !filepath.IsAbs(program):
		return errors.New("is a relative path, which depends on where the server is started: write an absolute one")
	}
	return nil
}

// secretText formats s as a value of env.
func secretText(s Secret) string {
	if s.Command != nil {
		return "{ command = " + array(s.Command, tomlfile.Text) + " }"
	}
	return "{ file = " + tomlfile.Text(s.File) + " }"
}

// keysOf returns the keys of both maps.
func keysOf[A, B any](a map[string]A, b map[string]B) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range a {
			if !yield(name) {
				return
			}
		}
		for name := range b {
			if !yield(name) {
				return
			}
		}
	}
}
