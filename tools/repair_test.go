package tools

import (
	"slices"
	"strings"
	"testing"
)

func TestRepair(t *testing.T) {
	offered := append(Catalogue([]string{"terminal", "file", "calculator"}, Toolsets()).Names(), "get_weather", "patch", "process")
	for want, names := range map[string]string{
		"terminal": `terminalterminal terminalterminalterminal terminal_terminal Terminal TERMINAL terminal() terminal. terminal_tool
			terminalTool TerminalTool terminal-tool functions.terminal functions.terminal:0 functions:terminal default_api.terminal tools/terminal
			terminal<|channel|>commentary terminl terminall termnial termianl terminals treminal function.terminalterminal`,
		"read_file":    `readfile read-file ReadFile readFile READ_FILE read.file Read_File_Tool read_file_tool read_file_tools read_files raed_file read_fil read_filee functions.ReadFile read__file _read_file read_fileread_file`,
		"write_file":   `WriteFile write_fiel writ_file write_files`,
		"search_files": `SearchFiles search_file serch_files searchfiles search-files`,
		"patch":        `Patch patch_tool patchpatch patchs patcch`,
		"process":      `Process proces proccess processs`,
		"calculator":   `Calculator calculater calulator calcualtor calculator_tool calcuiator calculate`,
		"get_weather":  `getWeather get-weather get_weathr`,
	} {
		for name := range strings.FieldsSeq(names) {
			if got, ok := Repair(name, offered); got != want || !ok {
				t.Errorf("%s: %q %v, want %s", name, got, ok, want)
			}
		}
	}
	for _, name := range []string{"read file", "Read File", " terminal ", "terminal\n", "write file tool"} {
		if _, ok := Repair(name, offered); !ok {
			t.Errorf("%q is not repaired", name)
		}
	}
}

// What may mean something else stays what it is.
func TestRepairSaysNo(t *testing.T) {
	offered := []string{"calculator", "patch", "process", "read_file", "search_files", "terminal", "write_file"}
	for name := range strings.FieldsSeq(`
		terminal read_file
		web_search WebSearch websearch web_searchweb_search web_search_tool web_serch browser_clik browser_tap functions.web_search
		bash shell sh run execute python cat ls edit str_replace create_file edit_file delete_file list_files open_file
		read write file files search grep path batch match watch latch pitc catch patche_file progress processing
		head_file white_file_2 read_pile read_line lead_file reed_mile search_tiles write_read_file read_write_file
		terminal_read terminal2x multi_tool_use.parallel functions.bash calc calculators_of_doom patches
		_ -- . <|end|> ... tool tools functions. read_ _file terminals_ready`) {
		if got, ok := Repair(name, offered); ok {
			t.Errorf("%s became %s", name, got)
		}
	}
	for _, name := range []string{"", strings.Repeat("terminal", 100), "терминал", "\xff\xfe", "read_file\x00x"} {
		if got, ok := Repair(name, offered); ok {
			t.Errorf("%q became %s", name, got)
		}
	}
	// Two tools that are as near as each other.
	if got, ok := Repair("get_datas", []string{"get_data", "get_date"}); !ok || got != "get_data" {
		t.Errorf("got %q %v", got, ok)
	}
	for _, name := range []string{"get_datx", "GetItem"} {
		if got, ok := Repair(name, []string{"get_data", "get_date", "get_item", "getItem"}); ok {
			t.Errorf("%s became %s", name, got)
		}
	}
	// What is not offered is not handed out.
	if got, ok := Repair("readfile", []string{"terminal"}); ok {
		t.Errorf("readfile became %s", got)
	}
}

func FuzzRepair(f *testing.F) {
	f.Add("terminalterminal")
	f.Add("functions.readFile_tool:12<|x")
	f.Add("write fiel")
	offered := []string{"calculator", "patch", "read_file", "terminal", "wide_ünicode"}
	f.Fuzz(func(t *testing.T, name string) {
		got, ok := Repair(name, offered)
		switch {
		case !ok && got != "":
			t.Fatalf("%q: %q without a repair", name, got)
		case ok && !slices.Contains(offered, got):
			t.Fatalf("%q became %q, which is not offered", name, got)
		case ok && Exists(name):
			t.Fatalf("%q exists and became %q", name, got)
		}
	})
}
