package simulated

import "strings"

// recipe is a small program that the model knows: as a script for sh and, where
// it is one, as a function in Python.
type recipe struct {
	name     string   // of the file, without extension
	words    []string // any of them in a prompt asks for it
	does     string   // what it does, for the answer
	script   string
	args     []string // default arguments; a prompt's numbers replace the last ones
	text     bool     // the argument is a text: the prompt's first quotation
	function string   // body of the function in Python, on n or on a and b
	names    []string // names of stubs that this body solves
}

var recipes = []recipe{
	{
		name: "fibonacci", words: []string{"fibonacci"}, does: "prints the first N Fibonacci numbers", args: []string{"10"},
		script: `n=${1:-10}
a=0
b=1
while [ "$n" -gt 0 ]; do
  echo "$a"
  next=$((a + b))
  a=$b
  b=$next
  n=$((n - 1))
done
`,
		function: "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a\n", names: []string{"fib", "fibonacci"},
	},
	{
		name: "factorial", words: []string{"factorial"}, does: "prints the factorial of N", args: []string{"5"},
		script: `n=${1:-5}
product=1
while [ "$n" -gt 1 ]; do
  product=$((product * n))
  n=$((n - 1))
done
echo "$product"
`,
		function: "product = 1\nfor i in range(2, n + 1):\n    product *= i\nreturn product\n", names: []string{"factorial"},
	},
	{
		name: "is_prime", words: []string{"is prime", "is a prime", "is_prime", "whether a number is prime", "primality"},
		does: "tells whether N is a prime number", args: []string{"97"},
		script: `n=${1:-97}
if [ "$n" -lt 2 ]; then
  echo "$n is not prime"
  exit
fi
d=2
while [ $((d * d)) -le "$n" ]; do
  if [ $((n % d)) -eq 0 ]; then
    echo "$n is not prime: it is divisible by $d"
    exit
  fi
  d=$((d + 1))
done
echo "$n is prime"
`,
		function: "if n < 2:\n    return False\nd = 2\nwhile d * d <= n:\n    if n % d == 0:\n        return False\n    d += 1\nreturn True\n",
		names:    []string{"is_prime"},
	},
	{
		name: "primes", words: []string{"prime numbers", "primes"}, does: "prints the prime numbers up to N", args: []string{"30"},
		script: `limit=${1:-30}
n=2
while [ "$n" -le "$limit" ]; do
  d=2
  while [ $((d * d)) -le "$n" ] && [ $((n % d)) -ne 0 ]; do
    d=$((d + 1))
  done
  if [ $((d * d)) -gt "$n" ]; then
    echo "$n"
  fi
  n=$((n + 1))
done
`,
	},
	{
		name: "fizzbuzz", words: []string{"fizzbuzz", "fizz buzz"}, does: "plays FizzBuzz up to N", args: []string{"15"},
		script: `limit=${1:-15}
i=1
while [ "$i" -le "$limit" ]; do
  word=
  [ $((i % 3)) -eq 0 ] && word=Fizz
  [ $((i % 5)) -eq 0 ] && word=${word}Buzz
  echo "${word:-$i}"
  i=$((i + 1))
done
`,
	},
	{
		name: "gcd", words: []string{"greatest common divisor", "gcd"}, does: "prints the greatest common divisor of two numbers", args: []string{"48", "18"},
		script: `a=${1:-48}
b=${2:-18}
while [ "$b" -ne 0 ]; do
  rest=$((a % b))
  a=$b
  b=$rest
done
echo "$a"
`,
		function: "while b:\n    a, b = b, a % b\nreturn a\n", names: []string{"gcd", "greatest_common_divisor"},
	},
	{
		name: "table", words: []string{"multiplication table", "times table"}, does: "prints the multiplication table of N", args: []string{"7"},
		script: `n=${1:-7}
i=1
while [ "$i" -le 10 ]; do
  echo "$n x $i = $((n * i))"
  i=$((i + 1))
done
`,
	},
	{
		name: "countdown", words: []string{"counts down", "count down", "countdown"}, does: "counts down from N to 0", args: []string{"5"},
		script: `n=${1:-5}
while [ "$n" -ge 0 ]; do
  echo "$n"
  n=$((n - 1))
done
`,
	},
	{
		name: "squares", words: []string{"squares of", "square numbers"}, does: "prints the squares of the numbers from 1 to N", args: []string{"10"},
		script: `limit=${1:-10}
i=1
while [ "$i" -le "$limit" ]; do
  echo "$((i * i))"
  i=$((i + 1))
done
`,
	},
	{
		name: "sum", words: []string{"sum of the numbers", "sum of all numbers", "sum of the integers", "sum of all integers", "adds up the numbers"}, does: "prints the sum of the numbers from 1 to N", args: []string{"100"},
		script: `limit=${1:-100}
total=0
i=1
while [ "$i" -le "$limit" ]; do
  total=$((total + i))
  i=$((i + 1))
done
echo "$total"
`,
		function: "return sum(range(1, n + 1))\n", names: []string{"sum_to_n"},
	},
	{
		name: "palindrome", words: []string{"palindrome"}, does: "tells whether a text reads the same backwards", args: []string{"level"}, text: true,
		script: reversing + `if [ "$text" = "$reversed" ]; then
  echo "$text is a palindrome"
else
  echo "$text is not a palindrome"
fi
`,
		function: "return n == n[::-1]\n", names: []string{"is_palindrome"},
	},
	{
		name: "reverse", words: []string{"revers", "backwards"}, does: "prints a text backwards", args: []string{"hello"}, text: true,
		script:   reversing + "echo \"$reversed\"\n",
		function: "return n[::-1]\n", names: []string{"reverse", "reverse_string"},
	},
	{
		name: "greet", words: []string{"hello", "greet"}, does: "greets", args: []string{"Hello, world!"}, text: true,
		script: "echo \"${1:-Hello, world!}\"\n",
	},
	{
		name: printText, words: []string{"print", "echo", "output", "say"}, does: "prints a text", args: []string{"done"}, text: true,
		script: "echo \"${1:-done}\"\n",
	},
}

// printText is the recipe for a text that the prompt quotes.
const printText = "print_text"

const reversing = `text=${1:-level}
reversed=
rest=$text
while [ -n "$rest" ]; do
  first=${rest%"${rest#?}"}
  reversed=$first$reversed
  rest=${rest#?}
done
`

// bodies solve further stubs by name and number of parameters.
var bodies = map[string]string{
	"add/2":             "return a + b\n",
	"multiply_all/1":    "product = 1\nfor x in n:\n    product *= x\nreturn product\n",
	"is_even/1":         "return n % 2 == 0\n",
	"strlen/1":          "return len(n)\n",
	"max_element/1":     "return max(n)\n",
	"flip_case/1":       "return n.swapcase()\n",
	"concatenate/1":     "return \"\".join(n)\n",
	"unique/1":          "return sorted(set(n))\n",
	"triangle_area/2":   "return a * b / 2\n",
	"below_threshold/2": "return all(x < b for x in a)\n",
	"truncate_number/1": "return n % 1.0\n",
	"string_sequence/1": "return \" \".join(str(i) for i in range(n + 1))\n",
}

// findRecipe returns the recipe that a prompt asks for.
func findRecipe(p *prose) (recipe, bool) {
	low := strings.ToLower(p.bare)
	for _, r := range recipes {
		if containsAny(low, r.words) && (r.name != printText || len(p.quotes) > 0) {
			return r, true
		}
	}
	return recipe{}, false
}

// solution is the body for a stub that the model knows; "" none.
func solution(name string, parameters int) string {
	for _, r := range recipes {
		if parameters != len(r.args) {
			continue
		}
		for _, n := range r.names {
			if n == name {
				return r.function
			}
		}
	}
	return bodies[name+"/"+string(rune('0'+min(parameters, 9)))]
}

// filled are the arguments for a prompt's numbers or its quotation.
func (r recipe) filled(p *prose) []string {
	args := append([]string(nil), r.args...)
	if r.text {
		for _, q := range p.quotes {
			if !q.code {
				return []string{q.text}
			}
		}
		return args
	}
	numbers := integers().FindAllString(strings.ReplaceAll(p.bare, ",", " "), -1)
	if len(numbers) < len(args) {
		return args
	}
	return append(args[:0], numbers[len(numbers)-len(args):]...)
}
