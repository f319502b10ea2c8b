use proptest::prelude::*;

use super::*;

const HOME: Option<&str> = Some("/home/ann");

/// Text, and what must be gone from it.
const SECRETS: &[(&str, &str)] = &[
    ("Cookie: sid=s3cr3t; theme=dark", "s3cr3t"),
    ("set-cookie: a=s3cr3t; Path=/", "s3cr3t"),
    ("curl -H 'Cookie: a=s3cr3t; b=c' https://x", "s3cr3t"),
    (r#"{"Cookie": "a=s3cr3t; b=c", "n": 1}"#, "s3cr3t"),
    (r#"{\"cookie\": \"a=s3cr3t; b=c\"}"#, "s3cr3t"),
    (r#""cookies":[{"name":"sid","value":"s3cr3t"}], "x": 1"#, "s3cr3t"),
    ("Authorization: Bearer abc.def", "abc.def"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("proxy-authorization: Digest username=x", "username"),
    ("sent Bearer abcdef123456 to it", "abcdef123456"),
    ("Basic dXNlcjpwYXNz was sent", "dXNlcjpwYXNz"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_16"),
    ("x=gho_16C7e42F292c6912E7710c8", "gho_16"),
    ("github_pat_11ABCDEFG0abcdefghij_klm", "github_pat_11"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOS"),
    ("key sk-proj-abcdefghijklmnop1234", "sk-proj"),
    ("sk-ant-api03-AbCdEf0123456789", "sk-ant"),
    ("xoxb-123456789012-abcdef", "xoxb-123"),
    ("glpat-abcdef12345", "glpat-abc"),
    ("npm_abcdefghij0123456789abcdefghij012345", "npm_abc"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSy"),
    ("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln x", "eyJhbG"),
    (r#""a\nghp_16C7e42F292c6912E771""#, "ghp_16"),
    ("a%3Dghp_16C7e42F292c6912E771", "ghp_16"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Blbn\\n-----END OPENSSH PRIVATE KEY-----", "b3B"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEowAAAA\nBBBB", "MIIEow"),
    ("git clone https://ann:hunter2@host/x.git", "hunter2"),
    ("https://ann:p%40ss:w@rd@host/x", "rd@host"),
    ("postgres://ann:hunter2@db:5432/x", "hunter2"),
    ("https://x/f?X-Amz-Signature=0a1b2c&X-Amz-Date=20250101", "0a1b2c"),
    ("https://x/f?sv=1&sig=abc%2Bd&se=2", "abc%2Bd"),
    ("https://x/cb?code=4/0AX4XfWh&scope=a", "0AX4XfWh"),
    ("https://x/f?access_token=abcd", "abcd"),
    ("code=SplxlOBeZQQYbYS6WxSbIA", "Splx"),
    ("code=abc123", "abc123"),
    ("code=482913", "482913"),
    ("api-key: 0123abc", "0123abc"),
    ("x-api-key: zzz", "zzz"),
    (r#"{"apiKey": "zzz"}"#, "zzz"),
    (r#"{"client_secret":"a\"zzz"}"#, "zzz"),
    ("AWS_SECRET_ACCESS_KEY=wJalr/K7", "wJalr"),
    ("export DB_PASSWORD=a&b,c;d", "c;d"),
    ("OPENAI_KEY=abcdef123", "abcdef123"),
    ("SMTP_PASS='two words 1'", "words"),
    ("password: hunter2", "hunter2"),
    ("passphrase: correct horse battery", "horse"),
    ("tool --password hunter2 --x", "hunter2"),
    ("tool --api-key=hunter2", "hunter2"),
    (r#"["tool","--token","hunter22"]"#, "hunter22"),
    ("'secret' => 'hunter2'", "hunter2"),
    ("token=abcdef123", "abcdef123"),
    ("refreshToken: abc", "abc"),
    ("curl -u ann:hunter2 https://x", "hunter2"),
    ("curl --user ann:hunter2 https://x", "hunter2"),
    ("curl --user=ann:hunter2 https://x", "hunter2"),
    (r#"["curl","-u","ann:hunter2"]"#, "hunter2"),
    ("mysql -uroot -phunter2 board", "hunter2"),
    ("sshpass -p hunter2 ssh ann@host", "hunter2"),
    (r#"["sshpass", "-p", "hunter2", "ssh"]"#, "hunter2"),
    ("docker login -u ann -p hunter2 host", "hunter2"),
    ("zip -P hunter2 out.zip x", "hunter2"),
    ("smbclient //h/s -U ann%hunter2", "hunter2"),
    ("password:\n  hunter2", "hunter2"),
    ("  password: |\n    hunter2", "hunter2"),
    ("secret: >-\r\n    hunter2", "hunter2"),
    ("https://x/r?to=https%3A%2F%2Fy%3Fclient_secret%3Dhunter2%26n%3D1", "hunter2"),
    ("a%26password%3dhunter2", "hunter2"),
    ("access_token%253Dhunter2", "hunter2"),
    ("the passphrase is hunter2", "hunter2"),
    ("The password is: hunter2", "hunter2"),
    ("its API key is hunter2", "hunter2"),
    ("API key: hunter2", "hunter2"),
    ("pass\u{8}sword: hunter2", "hunter2"),
    ("pass\u{1b}[1mword\u{1b}[0m: hunter2", "hunter2"),
    ("pass\u{200b}word=hunter2", "hunter2"),
    ("Password for 'ann': hunter2", "hunter2"),
    ("Enter PIN: 4711", "4711"),
    ("PIN_CODE=4711", "4711"),
    ("PGPASSWORD=hunter2 psql", "hunter2"),
    ("SSHPASS=hunter2", "hunter2"),
    ("Passwort: hunter2", "hunter2"),
    ("user ann pw: hunter2", "hunter2"),
    ("wrote to ann.lee+x@example.com", "ann.lee"),
    ("/home/ann/board/x.kicad_pcb", "/home/ann"),
    ("file:///home/ann", "/home/ann"),
];

/// Text that must stay as it is.
const HARMLESS: &[&str] = &[
    "",
    r#"{"tokenCount": 42, "nextPageToken": "CAUQAA", "cookieConsent": "given"}"#,
    "max_tokens=4096 total_tokens: 12",
    "token ring and tokenizer",
    "unexpected token: foo",
    "SyntaxError: Unexpected token: identifier in x",
    "the cookie was eaten",
    r#"{"cookies": [], "password": "", "token": null, "secret": true}"#,
    "exit code=1, code=404 code=ENOENT code=E0432 code=0x80004005",
    "KEY=R12 monkey=1 keyboard=us PRIMARY_KEY=user_1",
    "DRC_PASS=1 TEST_PASS=yes",
    "disk-usage task-force-of-seven-and-eight risk-assessment-2024-10",
    "npm_config_registry npm_lifecycle_event",
    "https://example.com/a@b?page=2&sort=key",
    "ssh://git@host/x and git@github.com:a/b.git",
    "icon@2x.png pcbflow@1.2.3 @types/node",
    "/home/anna/x /data/home/ann2",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "Basic authentication and Bearer bonds",
    "net VCC: clearance 0.2 mm; U7.pass: ok",
    "ERC: 0 Fehler, Größe 3 µm",
    "fingerprint 3b5d5c3712955042212316173ccf37be800e1b7a",
    "AUTHOR=ann passed=3 authored",
    "password == other and token != x",
    "--token-count 3",
    "std::token::Ring",
    "The password is wrong. This token is invalid",
    "the passphrase is required to unlock",
    "docker run -u 1000:1000 -p 8080:80 image",
    "mkdir -p build/out && tar -xzf a.tgz -C b",
    "PIN: 5, pin=GND, Pin: A1, U1 pin: 7",
    "secret:\n  name: board\n",
    "passwords:\nnext line",
    "DRC key: 7, sort key: name, exit code: 3",
    "100%3D of 5%3A",
    "git commit -u no -m x",
    "\u{1b}[31merror\u{1b}[0m: 3 findings",
    "mysql -p board",
    "this is a list, it is fine",
];

#[test]
fn secrets_go() {
    for (text, gone) in SECRETS {
        let out = redact(text, HOME);
        assert!(!out.contains(gone), "{text:?} -> {out:?}");
        assert_eq!(redact(&out, HOME), out, "twice: {text:?}");
    }
}

#[test]
fn secrets_go_in_the_middle_of_other_text() {
    for (text, gone) in SECRETS {
        let line = format!("vorher ü {text}\nnachher: Ω-7 ok\n");
        let out = redact(&line, HOME);
        assert!(!out.contains(gone), "{text:?} -> {out:?}");
        assert!(out.starts_with("vorher ü "), "{out:?}");
        if !text.contains("PRIVATE KEY") {
            assert!(out.ends_with("\nnachher: Ω-7 ok\n"), "{out:?}");
        }
    }
}

#[test]
fn harmless_text_is_borrowed() {
    for text in HARMLESS {
        let out = redact(text, HOME);
        assert_eq!(out, *text);
        assert!(matches!(out, Cow::Borrowed(_)), "{text:?}");
    }
}

#[test]
fn what_stands_beside_a_secret_stays() {
    let cases = [
        (r#"{"apiKey":"a b","n":1}"#, r#"{"apiKey":"[redacted]","n":1}"#),
        ("https://x/f?sig=abc&page=2", "https://x/f?sig=[redacted]&page=2"),
        ("password=x1,user=bob", "password=[redacted],user=bob"),
        ("(token=abcdef123)", "(token=[redacted])"),
        ("curl -H 'Cookie: a=b' -v", "curl -H 'Cookie: [redacted]' -v"),
        ("https://ann:pw@host/p", "https://[redacted]@host/p"),
        ("Bearer abc123def rest", "Bearer [redacted] rest"),
        ("see /home/ann/x and /home/ann.", "see ~/x and ~."),
        ("mail ann@example.com.", "mail [e-mail]."),
        (r#""cookies":[{"v":"a]b"}],"n":1"#, r#""cookies":[redacted],"n":1"#),
    ];
    for (text, want) in cases {
        assert_eq!(redact(text, HOME), want);
    }
}

#[test]
fn homes_of_other_systems() {
    let home = Some(r"C:\Users\Ann");
    assert_eq!(redact(r"at C:\Users\Ann\x", home), r"at ~\x");
    assert_eq!(redact(r#""C:\\Users\\Ann\\x""#, home), r#""~\\x""#);
    assert_eq!(redact("C:/Users/Ann/x", home), "~/x");
    for none in ["/", "", "C:\\"] {
        assert_eq!(redact("/ C:\\ x", Some(none)), "/ C:\\ x");
    }
}

#[test]
fn names() {
    for name in ["X-Api-Key", "apiKey", "DB_PASSWORD", "GITHUB_TOKEN", "clientSecret", "Cookie"] {
        assert!(is_secret_key(name), "{name}");
    }
    for name in ["tokenCount", "nextPageToken", "cookieConsent", "PATH", "KEY", "HOME", "passed"] {
        assert!(!is_secret_key(name), "{name}");
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    // Half a megabyte each: a quadratic scan would take minutes here.
    for part in [
        "token:",
        "eyJaaaaaaaa-",
        "a@",
        "://a",
        "-----BEGIN PRIVATE KEY-----",
        "--password ",
        "password=\"",
        "\"cookies\":[",
        "code=",
        "Bearer ",
        "a.b@c.d",
        "Cookie:'",
        "&key=&",
        "sk-",
        "mysql -p",
        "-p,",
        "-u \"",
        " -P",
        "-u a",
        "password is ",
        "password:\n ",
        "token%3D",
        "password for : ",
        "pass\u{8}",
    ] {
        let text = part.repeat(500_000 / part.len());
        let out = redact(&text, HOME);
        assert!(out.len() < text.len() * 4);
    }
}

#[test]
fn a_secret_value_is_never_shown() {
    let secret = Secret::new("hunter2".to_owned());
    assert_eq!(format!("{secret} {secret:?}"), "[redacted] [redacted]");
    assert_eq!(serde_json::to_string(&secret).unwrap(), "\"[redacted]\"");
    assert_eq!(secret.expose(), "hunter2");
}

fn piece() -> impl Strategy<Value = String> {
    let known = SECRETS.iter().map(|s| s.0).chain(HARMLESS.iter().copied());
    let known: Vec<String> = known.map(str::to_owned).collect();
    prop_oneof![
        3 => proptest::sample::select(known),
        2 => "[a-zA-Z0-9_=:@/.&?\"' \\\\\n\\[\\]-]{0,24}",
        1 => "\\PC{0,8}",
        1 => proptest::sample::select(vec!["token", "password", "=", ": ", "\"", "[redacted]",
            "Cookie:", "ghp_", "@", "code=", "://", "--", "/home/ann", " is ", "-u ", "mysql -p",
            ":\n  ", "%3D", "\u{8}", "API key"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn twice_is_once(parts in proptest::collection::vec(piece(), 0..8), glue in "[ \n,&]{0,1}") {
        let text = parts.join(&glue);
        let one = redact(&text, HOME).into_owned();
        prop_assert_eq!(redact(&one, HOME), one.as_str());
    }

    #[test]
    fn any_text_is_taken(text in "\\PC{0,200}") {
        let out = redact(&text, Some("/home/ü"));
        prop_assert!(out.len() <= text.len() * 12 + 16);
    }
}
