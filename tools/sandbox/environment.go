package sandbox

import "os"

// MarkName is the variable by which a process is known as a sandbox's. Its
// value is the nonce and the call's key, a slash after each.
const MarkName = "HERMES_BATCH_SANDBOX"

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// cleanEnvironment is what commands and their supervisor see. It names what
// passes, so that no key of the program's can: a parent's environment is open
// to its children in /proc.
func cleanEnvironment(home, mark string) []string {
	value := func(name, otherwise string) string {
		if v, ok := os.LookupEnv(name); ok {
			return name + "=" + v
		}
		return name + "=" + otherwise
	}
	env := []string{
		value("PATH", defaultPath),
		"HOME=" + home,
		value("LANG", "C.UTF-8"),
		"TERM=dumb",
		MarkName + "=" + mark,
	}
	for _, name := range []string{"TZ", "USER", "LOGNAME"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
