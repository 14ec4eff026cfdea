bulkhead::serve!(plugin); fn plugin() -> bulkhead::Plugin { bulkhead::Plugin::new().tool("hi", |_:&bulkhead::Call, _: bulkhead::NoArguments| Ok("hi"))}
