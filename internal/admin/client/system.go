package client

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// System is the environment of the user.
type System struct {
	OS        string // a value of runtime.GOOS
	Home      string
	Project   string // empty if there is no project
	NoProject string // why there is no project
	State     string // the state directory, which contains the backups; empty if there is none
	NoState   string // why there is no state directory
	Program   string // path of this program that entries contain
	Getenv    func(string) string
	LookPath  func(string) (string, error)

	files filesystem.FS // file system of transactions; nil: filesystem.OS{}; set by tests only
}

// NewSystem returns the system that a host with these options finds. goos is runtime.GOOS.
func NewSystem(o discovery.Options, goos string) (System, error) {
	places, err := discovery.FindPlaces(o)
	if err != nil {
		return System{}, err
	}
	if places.Home == "" {
		return System{}, usage.Errorf("the home directory is unknown: set HOME")
	}
	s := System{
		OS: goos, Home: places.Home, Project: places.Project, NoProject: places.NoProject, State: places.State, NoState: places.NoState,
		Getenv: os.Getenv, LookPath: exec.LookPath,
	}
	s.Program, err = stableProgram(os.Args[0], os.Getenv("PATH"))
	return s, err
}

func (s System) exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// absoluteEnv returns the value of a variable if it is an absolute path, else the argument "otherwise".
func (s System) absoluteEnv(name, otherwise string) string {
	if dir := s.Getenv(name); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return otherwise
}

// xdgDir returns a directory below ~/.config. The clients with files there use it on macOS and Windows too.
func (s System) xdgDir(name string) string {
	return filepath.Join(s.absoluteEnv("XDG_CONFIG_HOME", filepath.Join(s.Home, ".config")), name)
}

// appDir returns the directory of the data of a desktop application.
func (s System) appDir(name string) string {
	switch s.OS {
	case "darwin":
		return filepath.Join(s.Home, "Library", "Application Support", name)
	case "windows":
		return filepath.Join(s.absoluteEnv("APPDATA", filepath.Join(s.Home, "AppData", "Roaming")), name)
	}
	return s.xdgDir(name)
}

// zedDir returns the directory of Zed's settings. On macOS, no environment variable changes it.
func (s System) zedDir() string {
	switch s.OS {
	case "darwin":
		return filepath.Join(s.Home, ".config", "zed")
	case "windows":
		return s.appDir("Zed")
	}
	return s.xdgDir("zed")
}

func (s System) claudeDir() string {
	return s.absoluteEnv("CLAUDE_CONFIG_DIR", filepath.Join(s.Home, ".claude"))
}

func (s System) claudeFile() string {
	return filepath.Join(s.absoluteEnv("CLAUDE_CONFIG_DIR", s.Home), ".claude.json")
}

func (s System) codexDir() string {
	return s.absoluteEnv("CODEX_HOME", filepath.Join(s.Home, ".codex"))
}
