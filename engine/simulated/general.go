package simulated

import "strings"

// general answers what no tool can help with, and says what it is that answers.
func general(prompt string) task {
	return func(r *replay) answer {
		about := strings.Trim(firstLine(strings.TrimSpace(prompt), 160), "“”")
		a := answer{
			thought: "This asks for knowledge or for tools that I do not have. I am the embedded simulated model, so the honest answer is to say so.",
			text:    "I am the simulated model that is built into this program. I follow simple requests to calculate, to run commands, to work with files and to write small scripts, and I know nothing of the world",
		}
		if about == "" {
			a.thought = "There is no question here. I say what I am and what I can do."
			a.text += ". Ask me something of that kind."
			return a
		}
		a.text += ", so I cannot answer this: “" + about + "”."
		if len(r.offered) == 0 {
			a.text += " No tools were offered either."
		}
		return a
	}
}
